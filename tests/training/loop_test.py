"""The loop: what it writes, when it stops, and what it never does twice."""

import itertools
import json
import os
import re
import shutil
import signal
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from contrastive_jax import sharding
from contrastive_jax.errors import BadInput, Preempted, RunFailed
from contrastive_jax.evaluation import embed
from contrastive_jax.randomness import Role, key_for
from contrastive_jax.training import evaluate, metrics_log, workdir
from contrastive_jax.training.build import build
from contrastive_jax.training.checkpoints import Checkpoints
from contrastive_jax.training.loop import Run, train
from contrastive_jax.training.state import state_shapes


def final_state(path, config):
    checkpoints = Checkpoints(path)
    state = checkpoints.restore(state_shapes(build(config)))
    checkpoints.close()
    return state


def test_a_run_writes_what_it_should_and_is_then_finished(tmp_path, config, capsys):
    config.evaluate_every = 3
    final = train(config, tmp_path)
    rows = metrics_log.read(tmp_path)
    trained = [row for row in rows if 'loss' in row]
    evaluated = [row for row in rows if 'test_accuracy' in row]
    assert [row['step'] for row in trained] == [1, 2, 3, 4, 5, 6]
    assert [row['step'] for row in evaluated] == [3, 6]
    assert final == workdir.final_row(tmp_path) == evaluated[-1]
    assert {'images_per_second', 'gradient_norm', 'alignment', 'log_sum_exp'} <= set(trained[0])
    assert final['code_bits_nominal'] == 3
    assert final['train_loss'] == trained[-1]['loss']
    assert 2.99 < final['code_bits_measured'] <= 3
    assert json.loads((tmp_path / 'config.json').read_text())['config']['num_steps'] == 6
    assert sorted(path.name for path in (tmp_path / 'checkpoints').iterdir()) == ['4', '6']
    assert list((tmp_path / 'tensorboard').iterdir())

    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob('*')}
    capsys.readouterr()
    assert train(config, tmp_path) == final
    assert 'finished before' in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob('*')} == before


def test_the_final_loss_is_the_mean_of_the_last_tenth(tmp_path):
    log = metrics_log.MetricsLog(tmp_path, 0)
    for step in range(2, 41, 2):
        log.write(step, {'loss': float(step)})
    log.write(40, {'test_accuracy': 0.5})
    log.close()
    run = SimpleNamespace(workdir=tmp_path, step=40)
    assert Run.last_losses(run) == {'train_loss': 39.0}
    assert Run.last_losses(SimpleNamespace(workdir=tmp_path / 'empty', step=40)) == {}


def test_two_runs_are_bit_identical_and_seeds_differ(tmp_path, config):
    train(config, tmp_path / 'a')
    train(config, tmp_path / 'b')
    a, b = final_state(tmp_path / 'a', config), final_state(tmp_path / 'b', config)
    jax.tree.map(np.testing.assert_array_equal, a, b)
    config.seed = 1
    train(config, tmp_path / 'c')
    c = final_state(tmp_path / 'c', config)
    assert not np.array_equal(jax.tree.leaves(a.params)[0], jax.tree.leaves(c.params)[0])


def test_a_loss_that_is_not_finite_stops_and_keeps_the_last_good_checkpoint(tmp_path, config):
    config.checkpoint_every = 1
    config.optimizer = dict(name='adam', learning_rate=1e17, schedule='constant')
    with pytest.raises(RunFailed, match=r'at step (\d+)\. Step (\d+) is kept') as raised:
        train(config, tmp_path)
    bad, kept = map(int, re.findall(r'tep (\d+)', str(raised.value)))
    assert kept == bad - 1
    restored = final_state(tmp_path, config)
    assert int(restored.step) == kept
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(restored))
    assert workdir.final_row(tmp_path) is None


def test_evaluation_leaves_the_encoder_bit_identical(tmp_path, config):
    train(config, tmp_path / 'rarely')
    config.evaluate_every = 1
    train(config, tmp_path / 'often')
    rarely, often = (final_state(tmp_path / name, config) for name in ('rarely', 'often'))
    jax.tree.map(np.testing.assert_array_equal, rarely, often)
    evaluated = [row for row in metrics_log.read(tmp_path / 'often') if 'test_accuracy' in row]
    assert len(evaluated) == 6


@pytest.mark.slow
def test_divergence_is_a_failed_run_however_rarely_it_is_looked_at(tmp_path, config):
    config.optimizer = dict(name='adam', learning_rate=1e38, schedule='constant')
    config.log_every, config.evaluate_every, config.num_steps = 100, 1, 2
    with pytest.raises(RunFailed, match='parameter_norm is inf at step 1'):
        train(config, tmp_path)


def test_embeddings_do_not_depend_on_batch_size_or_devices(config):
    found = []
    for devices, batch_size in ((1, 1000), (4, 1000), (4, 77)):
        experiment = build(config, sharding.data_mesh(devices))
        state = experiment.init_state(experiment.seed_key)
        embed_step = jax.jit(experiment.embed_steps['test'])
        found.append(
            embed.embed(
                lambda variables, batch, key, embed_step=embed_step: embed_step(
                    variables, batch, {}, key
                ),
                state.variables,
                experiment.test.source,
                key_for(experiment.seed_key, Role.TEST_EXAMPLES),
                experiment.mesh,
                batch_size=batch_size,
            )
        )
    for other in found[1:]:
        np.testing.assert_array_equal(other['ids'], np.arange(1000))
        np.testing.assert_array_equal(other['labels'], experiment.test.source.labels)
        np.testing.assert_array_equal(other['factor_code'], found[0]['factor_code'])
        np.testing.assert_allclose(other['embeddings'], found[0]['embeddings'], atol=1e-5)


def test_one_measurement_of_a_workdir(tmp_path, config):
    final = train(config, tmp_path)
    again = evaluate.evaluate_workdir(tmp_path)
    assert again['test_accuracy'] == final['test_accuracy']
    assert again['step'] == 6
    earlier = evaluate.evaluate_workdir(
        tmp_path, step=4, protocol={'name': 'knn', 'k': 1}, factor='code'
    )
    assert earlier['step'] == 4
    assert 0 <= earlier['test_accuracy_low'] <= earlier['test_accuracy'] <= 1


def timeless(path):
    return [
        {name: value for name, value in row.items() if name not in ('images_per_second', 'seconds')}
        for row in metrics_log.read(path)
    ]


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ('place', 'visit', 'saved'),
    [
        ((metrics_log.MetricsLog, 'write'), 3, 3),  # between two steps, where no save is due
        pytest.param((metrics_log.MetricsLog, 'write'), 2, 2, marks=SLOW),  # where one is
        ((evaluate.Evaluator, '__call__'), 1, 3),  # in an evaluation, which is made up for
        pytest.param((evaluate.Evaluator, '__call__'), 2, 6, marks=SLOW),  # in the last one
        pytest.param((Checkpoints, 'save'), 1, 2, marks=SLOW),
    ],
)
def test_sigterm_saves_once_and_the_same_call_goes_on(
    tmp_path, config, monkeypatch, place, visit, saved
):
    config.evaluate_every = 3
    train(config, tmp_path / 'whole')
    visits, (owner, name) = itertools.count(1), place
    original = getattr(owner, name)

    def interrupted(*arguments, **options):
        if next(visits) == visit:
            os.kill(os.getpid(), signal.SIGTERM)
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, interrupted)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Preempted, match=f'step {saved} is saved'):
        train(config, tmp_path / 'broken')
    assert signal.getsignal(signal.SIGTERM) is before
    assert workdir.final_row(tmp_path / 'broken') is None
    checkpoints = Checkpoints(tmp_path / 'broken')
    assert checkpoints.latest_step == saved
    checkpoints.close()
    train(config, tmp_path / 'broken')
    assert timeless(tmp_path / 'broken') == timeless(tmp_path / 'whole')
    equal = np.testing.assert_array_equal
    jax.tree.map(equal, *(final_state(tmp_path / name, config) for name in ('whole', 'broken')))


def test_sigterm_before_the_first_step_leaves_a_run_that_can_begin(tmp_path, config, monkeypatch):
    compile_train_step = Run.compile_train_step

    def interrupted(run):
        os.kill(os.getpid(), signal.SIGTERM)
        return compile_train_step(run)

    with monkeypatch.context() as patch:
        patch.setattr(Run, 'compile_train_step', interrupted)
        with pytest.raises(Preempted, match='nothing to save'):
            train(config, tmp_path)
    assert 'test_accuracy' in train(config, tmp_path)


def test_a_damaged_newest_checkpoint_costs_the_steps_since_the_one_before(tmp_path, config, capsys):
    train(config, tmp_path / 'whole')
    with (tmp_path / 'whole' / 'metrics.jsonl').open() as log:
        lines = log.readlines()
    shutil.copytree(tmp_path / 'whole', tmp_path / 'broken')
    # As if it had been killed in its last evaluation, and a byte had rotted.
    (tmp_path / 'broken' / 'metrics.jsonl').write_text(''.join(lines[:-1]))
    data = max(
        (tmp_path / 'broken' / 'checkpoints' / '6' / 'default').rglob('*'),
        key=lambda path: path.stat().st_size if path.is_file() else 0,
    )
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    data.write_bytes(content)
    train(config, tmp_path / 'broken')
    said = capsys.readouterr().out
    assert 'warning: the checkpoint at step 6 has a file that changed after it was written' in said
    assert 'continues from step 4' in said
    assert timeless(tmp_path / 'broken') == timeless(tmp_path / 'whole')
    assert (tmp_path / 'broken' / 'damaged' / '6').is_dir()


@pytest.mark.slow
def test_a_finished_run_goes_on_when_its_length_may_change(tmp_path, config):
    train(config, tmp_path)
    config.num_steps = 8
    with pytest.raises(BadInput, match='config.num_steps: 6 there, 8 here'):
        train(config, tmp_path)
    assert train(config, tmp_path, allowed=['num_steps'])['step'] == 8
    assert train(config, tmp_path)['step'] == 8  # it is finished at the new length
    assert [row['step'] for row in metrics_log.read(tmp_path) if 'loss' in row] == [*range(1, 9)]


def test_a_collapse_is_logged_and_warned_of(config, tmp_path, capsys):
    # One unit that all else is read from: h has one direction, whatever the image.
    config.num_steps, config.model = 2, dict(name='mlp', widths=(1,), head_widths=(4,))
    row = train(config, tmp_path)
    assert row['h_effective_rank'] == pytest.approx(1, abs=1e-6)
    assert row['h_rankme'] == pytest.approx(1, abs=1e-6)
    assert 'h_alpha_req' not in row  # of one dimension there is no slope
    assert 0 < row['z_deviation'] < 1
    assert 'warning: z: ' in capsys.readouterr().out
