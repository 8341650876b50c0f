"""Several processes that train as one: they start, agree, are interrupted and end together."""

import json
import random
import signal
import time

import jax
import numpy as np
import pytest

from contrastive_jax.errors import BadInput
from contrastive_jax.training import hosts, metrics_log
from tests.training import processes

SHORT = ('--config.num_steps=4', '--config.evaluate_every=2', '--config.checkpoint_every=2')
LONG = (
    '--config.num_steps=80', '--config.evaluate_every=40', '--config.checkpoint_every=20',
    '--config.log_every=5',
)  # fmt: skip

# Trains as the command does, and writes what only the process itself can know: a digest of the
# live state of each of its devices at each save, and how it embeds 37 examples.
PROGRAM = """
import hashlib, json, sys
import jax, numpy as np
from experiments import train
from contrastive_jax.evaluation.embed import embed
from contrastive_jax.randomness import Role, key_for
from contrastive_jax.training import evaluate, loop

class Part:
    def __init__(self, source):
        self.take, self.image_shape = source.take, source.image_shape
    def __len__(self):
        return 37

found = {'states': [], 'embedded': None}
save, measure = loop.Checkpoints.save, evaluate.Evaluator.__call__

def saved(self, step, state, score=None):
    for k in range(jax.local_device_count()):
        digest = hashlib.sha256()
        for leaf in jax.tree.leaves(state):
            digest.update(np.asarray(leaf.addressable_data(k)).tobytes())
        found['states'].append([step, digest.hexdigest()])
    return save(self, step, state, score)

def measured(self, variables, protocol, factor=None):
    key = key_for(self.experiment.seed_key, Role.TEST_EXAMPLES)
    step = lambda variables, batch, key: self._embed_steps['test'](
        variables, batch, self.tables['test'], key)
    rows = embed(step, variables, Part(self.experiment.test.source), key, self.experiment.mesh,
                 batch_size=10)
    found['embedded'] = {name: rows[name].tolist() for name in ('ids', 'labels', 'embeddings')}
    return measure(self, variables, protocol, factor)

loop.Checkpoints.save, evaluate.Evaluator.__call__ = saved, measured

def main():
    code = train.main()
    found['processes'] = jax.process_count()
    with open(f'{train.flags.FLAGS.workdir}.{jax.process_index()}.json', 'w') as file:
        json.dump(found, file)
    return code

train.cli.run(main)
"""


def close(found, expected, tolerance=1e-6):
    """Relative to max(1, |value|)."""
    return np.max(np.abs(found - expected) / np.maximum(1, np.abs(expected))) <= tolerance


@pytest.mark.slow
@pytest.mark.parametrize('count', [2, 4])
def test_several_processes_train_as_one_with_as_many_devices(tmp_path, count):
    program = tmp_path / 'program.py'
    program.write_text(PROGRAM)
    found = {}
    for name, group, devices in (('alone', 1, 2 * count), ('group', count, 2)):
        done = processes.finish(
            processes.start(tmp_path / name, group, *SHORT, program=[str(program)], devices=devices)
        )
        assert [code for code, _, _ in done] == [0] * group, done
        found[name] = [
            json.loads((tmp_path / f'{name}.{index}.json').read_text()) for index in range(group)
        ]
        assert [process['processes'] for process in found[name]] == [group] * group
        for _, out, _ in done[1:]:
            assert 'test accuracy' not in out  # the first one alone speaks
    # The live state is bit-identical on all devices of all processes.
    for process in found['group']:
        assert process['states'] == found['group'][0]['states']
    assert {step for step, _ in found['group'][0]['states']} == {2, 4}
    assert len({tuple(entry) for entry in found['group'][0]['states']}) == 2
    # Each of an odd number of examples is embedded once, on all.
    alone = found['alone'][0]['embedded']
    assert alone['ids'] == list(range(37))
    for process in found['group']:
        assert process['embedded']['ids'] == alone['ids']
        assert process['embedded']['labels'] == alone['labels']
        assert process['embedded'] == found['group'][0]['embedded']
        assert close(*(np.array(e['embeddings']) for e in (process['embedded'], alone)), 1e-5)
    rows, expected = (processes.rows_of(tmp_path / name) for name in ('group', 'alone'))
    assert [(row['step'], row.keys()) for row in rows] == [(r['step'], r.keys()) for r in expected]
    for row, other in zip(rows, expected, strict=True):
        for name in row:
            assert close(np.array(row[name]), np.array(other[name]), 2e-6), (name, row, other)


@pytest.mark.slow
@pytest.mark.slow
def test_several_processes_measure_local_features_as_one(tmp_path):
    flags = (
        '--config.num_steps=0', '--data=multidigits,num_digits=2,canvas=40', '--measure=clusters=3',
        '--evaluation=knn,k=1',
    )  # fmt: skip
    rows = {}
    for group, devices in ((1, 4), (2, 2)):
        root = tmp_path / str(group)
        done = processes.finish(processes.start(root, group, *flags, devices=devices))
        assert [code for code, _, _ in done] == [0] * group, done
        rows[group] = processes.rows_of(root)[-1]
    names = [name for name in rows[1] if name.startswith('agreement_3_')]
    assert len(names) == 4
    for name in names:
        assert close(np.array(rows[2][name]), np.array(rows[1][name]), 1e-3), name


def test_a_missing_process_is_named_and_nobody_waits_longer(tmp_path):
    started = time.monotonic()
    group = processes.start(tmp_path / 'run', 3, '--join_seconds=8', indices=(0, 2))
    for code, _, err in processes.finish(group):
        assert code == 1
        assert 'failed: Of 3 processes number 1 is missing after 8 s' in err
        assert 'Traceback' not in err
    assert time.monotonic() - started < 60
    assert not (tmp_path / 'run').exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ('flags', 'other', 'code', 'sentence'),
    [
        (['--config.batch_size=18'], [], 2, 'config.batch_size is 18, which 4 devices do not'),
        (['--config.seed=0'], ['--config.seed=1'], 2, 'The config or the workdir differs between'),
        (['--config.optimizer.learning_rate=1e38', '--config.num_steps=9'], None, 1, 'at step'),
    ],
)
def test_what_one_process_cannot_do_ends_all(tmp_path, flags, other, code, sentence):
    port = processes.free_port()
    group = []
    for index in range(2):
        place = [f'--coordinator=127.0.0.1:{port}', '--num_processes=2', f'--process_index={index}']
        own = other if other and index else flags
        group += processes.start(tmp_path / 'run', 1, *own, *place)
    for found, _, err in processes.finish(group):
        assert found == code, err
        assert sentence in err
        assert 'Traceback' not in err


@pytest.mark.slow
def test_sigterm_to_one_of_two_or_to_both_saves_one_step_and_both_exit_with_42(tmp_path):
    whole, broken = tmp_path / 'whole', tmp_path / 'broken'
    assert [done[0] for done in processes.finish(processes.start(whole, 2, *LONG))] == [0, 0]
    generator = random.Random(0)
    steps = []
    for victims in ([1], [0, 1]):
        group = processes.start(broken, 2, *LONG)
        processes.wait_for_rows(broken, len(metrics_log.read(broken)) + 1, group)
        time.sleep(generator.uniform(0, 0.3))
        done = processes.end_by_sigterm(group, victims)
        if [code for code, _, _ in done] == [0, 0]:
            break  # done before the signal came
        processes.assert_preempted(done)
        steps.append(max(int(path.name) for path in (broken / 'checkpoints').iterdir()))
    assert steps
    assert steps == sorted(steps)
    assert [done[0] for done in processes.finish(processes.start(broken, 2, *LONG))] == [0, 0]
    assert processes.rows_of(broken) == processes.rows_of(whole)


@pytest.mark.slow
@pytest.mark.parametrize('victim', [0, 1])
def test_when_one_is_killed_the_other_ends_with_an_error(tmp_path, victim):
    group = processes.start(tmp_path / 'run', 2, '--config.num_steps=20000')
    processes.wait_for_rows(tmp_path / 'run', 20, group)
    group[victim].kill()
    killed = time.monotonic()
    done = processes.finish(group)
    # At once by the broken connection, where there is none to break by the missing heartbeats.
    assert time.monotonic() - killed < hosts.HEARTBEAT_SECONDS + 30
    assert done[victim][0] == -signal.SIGKILL
    assert done[1 - victim][0] in (1, -signal.SIGABRT), done[1 - victim]


FULL_DISK = """
import jax
from experiments import train
from contrastive_jax.training import checkpoints

init = checkpoints.Checkpoints.__init__

def full():
    raise OSError(28, 'No space left on device')

def broken(self, *arguments, **options):
    init(self, *arguments, **options)
    if jax.process_index() == 1:
        self._manager.check_for_errors = full

checkpoints.Checkpoints.__init__ = broken
train.cli.run(train.main)
"""


@pytest.mark.slow
def test_a_save_that_fails_on_one_process_ends_all_and_is_named(tmp_path):
    program = tmp_path / 'program.py'
    program.write_text(FULL_DISK)
    flags = ('--config.num_steps=9', '--config.checkpoint_every=3')
    done = processes.finish(processes.start(tmp_path / 'run', 2, *flags, program=[str(program)]))
    for (code, _, err), where in zip(done, ('On process 1: ', ''), strict=True):
        assert code == 1, err
        assert f'failed: {where}The checkpoint at step 3 could not be saved' in err
        assert 'No space left' in err


def test_one_process_is_never_initialised(monkeypatch):
    hosts.join('')
    hosts.join('127.0.0.1:9999', 1, 0)
    slurm(monkeypatch, count=1, index=0)
    hosts.join('auto')
    assert not jax.distributed.is_initialized()


def slurm(monkeypatch, count, index):
    monkeypatch.setenv('SLURM_JOB_ID', '4096')
    monkeypatch.setenv('SLURM_STEP_NODELIST', 'node[7-9]')
    monkeypatch.setenv('SLURM_NTASKS', str(count))
    monkeypatch.setenv('SLURM_PROCID', str(index))
    monkeypatch.setenv('SLURM_LOCALID', '0')


def test_the_group_is_detected_as_jax_does(monkeypatch):
    slurm(monkeypatch, count=3, index=2)
    coordinator, count, index = hosts.detected(5)
    assert coordinator.startswith('node7:')
    assert (count, index) == (3, 2)


def test_where_there_is_no_group_auto_says_so(monkeypatch):
    for name in ('SLURM_JOB_ID', 'OMPI_MCA_orte_hnp_uri', 'TPU_WORKER_HOSTNAMES'):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(BadInput, match='no machine whose group JAX knows'):
        hosts.join('auto')


@pytest.mark.parametrize(
    ('place', 'sentence'),
    [
        (('here', 2, 0), "coordinator is 'here'"),
        (('', 2, 0), "coordinator is ''"),
        (('host:99999', 2, 0), "coordinator is 'host:99999'"),
        (('host:1', 2, 2), 'process_index is 2 and num_processes 2'),
        (('host:1', 0, -1), 'process_index is -1 and num_processes 0'),
    ],
)
def test_no_place_of_a_group(place, sentence):
    with pytest.raises(BadInput, match=sentence):
        hosts.join(*place)


def test_alone_everything_agrees_with_itself():
    assert hosts.exchange({'a': 1}) == [{'a': 1}]
    assert hosts.on_first(max, 1, 2) == hosts.together(max, 1, 2) == 2
    hosts.check_same({'widths': (1, 2)}, 'the config')
