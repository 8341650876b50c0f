"""The commands as a user runs them: real processes and exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from contrastive_jax.models.torchvision_weights import from_torchvision, read_weights
from contrastive_jax.training import metrics_log
from contrastive_jax.training.restore import restored_run

ROOT = Path(__file__).parents[2]
CONFIG = 'configs/chen2021/randbit_digits.py:smoke'


def command(module, *flags):
    return [sys.executable, '-m', f'experiments.{module}', *flags]


def environment():
    # As a user has it: no strict modes and no simulated devices from this process.
    return {name: value for name, value in os.environ.items() if name != 'XLA_FLAGS'}


def run(module, *flags):
    return subprocess.run(
        command(module, *flags), cwd=ROOT, env=environment(), capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip


@pytest.mark.parametrize('module', ['train', 'sweep', 'evaluate'])
def test_help_exits_with_0_and_shows_the_command(module):
    done = run(module, '--help')
    assert done.returncode == 0
    assert f'python -m experiments.{module}' in done.stdout
    assert 'flags:' in done.stdout or '--workdir:' in done.stdout


@pytest.mark.parametrize(
    ('flags', 'sentence'),
    [
        (['--online_probe=factor=colour'], "config.online_probe.factor is 'colour'; the factors"),
        (['--config.loss.temprature=1'], "Did you mean 'temperature'"),
        (['--config.num_steps=abc'], '--config.num_steps=abc: invalid literal'),
        (['--config.nothing=1'], "config has no 'nothing'"),
        (['--config.memory.size=8'], 'this config has no memory. Give it whole, as in --memory='),
        (['--loss=queue_contrastive', '--memory=size'], "'size' must look like option=value"),
        (['--init_from=nowhere'], 'nowhere is not the directory of a run'),
        (['--wrkdir=x'], "Unknown command line flag 'wrkdir'"),
        (['stray'], "'stray' is not a flag"),
        (['--config=configs/none.py'], "--config is 'configs/none.py': there is no such file"),
        ([f'--config={CONFIG}x'], "the config's argument is 'smokex'"),
        (['--config.batch_size=8000'], 'config.batch_size is 8000'),
    ],
)
def test_bad_flags_exit_with_2_and_one_sentence(tmp_path, flags, sentence):
    done = run('train', f'--config={CONFIG}', f'--workdir={tmp_path / "run"}', *flags)
    assert done.returncode == 2, done.stderr
    assert sentence in done.stderr
    assert 'Traceback' not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / 'run').exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ('flags', 'sentence'),
    [
        ([], 'Give --workdir, the directory of a run, or --config, and not both.'),
        (['--workdir=a', f'--config={CONFIG}'], 'and not both.'),
        (['--workdir=a', '--views=none'], '--views is given, which --workdir does not read'),
        ([f'--config={CONFIG}'], 'but a config has no trained encoder: give untrained, pixels'),
        ([f'--config={CONFIG}', '--encoder=pixels', '--step=2'], 'a config has no checkpoints'),
    ],
)
def test_what_embed_cannot_read_exits_with_2_and_one_sentence(tmp_path, flags, sentence):
    done = run('embed', f'--output={tmp_path / "rows.npz"}', *flags)
    assert done.returncode == 2, done.stderr
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_missing_flag_exits_with_2():
    done = run('train', f'--config={CONFIG}')
    assert done.returncode == 2
    assert '--workdir' in done.stderr


def test_train_then_evaluate_then_train_again(tmp_path):
    flags = [f'--config={CONFIG}', f'--workdir={tmp_path}', '--config.data.num_bits=2']
    done = run('train', *flags)
    assert done.returncode == 0, done.stderr
    assert 'test accuracy' in done.stdout
    assert json.loads((tmp_path / 'config.json').read_text())['overrides'] == {'data.num_bits': 2}
    measured = run('evaluate', f'--workdir={tmp_path}', '--metric=knn,k=1', '--factor=code')
    assert measured.returncode == 0, measured.stderr
    assert 'test_accuracy' in measured.stdout
    again = run('train', *flags)
    assert again.returncode == 0
    assert 'finished before' in again.stdout
    other = run('train', *flags, '--config.seed=4')
    assert other.returncode == 2
    assert 'config.seed: 0 there, 4 here' in other.stderr
    wrong = run('evaluate', f'--workdir={tmp_path}', '--factor=colour')
    assert wrong.returncode == 2
    assert 'label, code' in wrong.stderr


@pytest.mark.slow
def test_a_run_with_a_queue_and_one_that_starts_from_it(tmp_path):
    flags = [f'--config={CONFIG}', '--loss=queue_contrastive,temperature=0.2', '--memory=size=32']
    done = run('train', *flags, '--deterministic', f'--workdir={tmp_path / "before"}')
    assert done.returncode == 0, done.stderr
    config = json.loads((tmp_path / 'before' / 'config.json').read_text())
    assert config['config']['memory'] == {'size': 32}
    after = tmp_path / 'after'
    done = run('train', *flags, f'--init_from={tmp_path / "before"}@2', f'--workdir={after}')
    assert done.returncode == 0, done.stderr
    plain = run('train', *flags, f'--workdir={tmp_path / "plain"}')
    assert plain.returncode == 0, plain.stderr
    first, warm = (metrics_log.read(tmp_path / name)[0]['loss'] for name in ('plain', 'after'))
    assert first != warm


@pytest.mark.slow
def test_the_encoder_of_a_run_goes_out_in_torchvisions_form(tmp_path):
    workdir, output = tmp_path / 'run', tmp_path / 'out' / 'encoder.safetensors'
    model = '--model=resnet,depth=18,width=0.125,stem=cifar,variant=torchvision'
    done = run('train', f'--config={CONFIG}', model, f'--workdir={workdir}')
    assert done.returncode == 0, done.stderr
    flags = [f'--workdir={workdir}', f'--output={output}']
    done = run('export_weights', *flags)
    assert done.returncode == 0, done.stderr
    assert 'of step 2' in done.stdout
    _, state = restored_run(workdir)
    read = from_torchvision(state.variables, read_weights(output))
    for layer in ('layer1_0', 'layer4_1'):
        kernels = [tree['params'][layer]['conv1']['kernel'] for tree in (state.variables, read)]
        np.testing.assert_array_equal(*kernels)
    again = run('export_weights', *flags)
    assert again.returncode == 2
    assert 'exists already' in again.stderr
    # The digits have one channel, and the default is for photographs.
    flags = [f'--workdir={workdir}', f'--encoder={output}', f'--output={tmp_path / "rows.npz"}']
    done = run('embed', *flags)
    assert done.returncode == 2
    assert "--normalize is 'imagenet', of 3 channels, but these images have 1" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    done = run('embed', *flags, '--normalize=none', '--limit=20')
    assert done.returncode == 0, done.stderr
    assert '20 x 64' in done.stdout
    # The config alone gives the data and the model as well.
    of_config = [f'--config={CONFIG}', model, f'--encoder={output}', '--normalize=none']
    again = run('embed', *of_config, '--limit=20', f'--output={tmp_path / "again.npz"}')
    assert again.returncode == 0, again.stderr
    rows = [np.load(tmp_path / f'{name}.npz') for name in ('rows', 'again')]
    for name in ('embeddings', 'ids', 'labels'):
        np.testing.assert_array_equal(rows[0][name], rows[1][name])


@pytest.mark.slow
def test_the_weights_of_another_network_are_refused(tmp_path):
    workdir, output = tmp_path / 'run', tmp_path / 'encoder.safetensors'
    assert run('train', f'--config={CONFIG}', f'--workdir={workdir}').returncode == 0
    done = run('export_weights', f'--workdir={workdir}', f'--output={output}')
    assert done.returncode == 2
    assert "torchvision's weights need a config.model of name='resnet'" in done.stderr
    assert not output.exists()


@pytest.mark.slow
def test_a_report_of_a_run_and_of_its_files(tmp_path):
    workdir = tmp_path / 'run'
    assert run('train', f'--config={CONFIG}', f'--workdir={workdir}').returncode == 0
    done = run('evaluate', f'--workdir={workdir}', '--limit=200', '--baselines=pixels')
    assert done.returncode == 0, done.stderr
    for heading in ('WHAT IS READ', 'GEOMETRY', 'DIMENSIONS', 'MUTUAL INFORMATION', 'DOCTOR'):
        assert heading in done.stdout
    assert 'pixels' in done.stdout
    report = json.loads((workdir / 'report' / 'report.json').read_text())
    measured = report['sections']['Geometry']['measures']['uniformity']['h']['value']
    file = tmp_path / 'test.npz'
    done = run('embed', f'--workdir={workdir}', f'--output={file}', '--limit=200')
    assert done.returncode == 0, done.stderr
    others = [f'--train={file}', f'--output={tmp_path / "other"}']
    done = run('evaluate', f'--embeddings={file}', *others)
    assert done.returncode == 0, done.stderr
    assert '200 of 200 test rows stand among the training rows' in done.stdout
    report = json.loads((tmp_path / 'other' / 'report.json').read_text())
    again = report['sections']['Geometry']['measures']['uniformity']['h']['value']
    assert again == pytest.approx(measured, abs=1e-6)
    assert (tmp_path / 'other' / 'report.html').read_text().startswith('<!doctype html>')


@pytest.mark.slow
def test_an_evaluation_needs_a_run_or_a_file(tmp_path):
    done = run('evaluate')
    assert done.returncode == 2
    assert 'Give --workdir, the directory of a run, or --embeddings, a file.' in done.stderr
    done = run('evaluate', f'--embeddings={tmp_path / "none.npz"}')
    assert done.returncode == 2
    assert 'There is no file' in done.stderr
    np.save(tmp_path / 'rows.npy', np.eye(4))
    (tmp_path / 'file').write_text('')
    flags = [f'--embeddings={tmp_path / "rows.npy"}', f'--output={tmp_path / "file" / "report"}']
    done = run('evaluate', *flags)
    assert done.returncode == 1
    assert done.stderr.startswith('failed: ')
    assert 'Traceback' not in done.stderr


@pytest.mark.slow
def test_a_sweep_from_flags(tmp_path):
    done = run(
        'sweep', f'--config={CONFIG}', f'--workdir={tmp_path}', '--axis', 'data.num_bits=0,2',
        '--seeds=3',
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / 'results.csv').read_text().count('\n') == 3
    assert (tmp_path / 'figure.png').exists()


@pytest.mark.slow
def test_a_loss_of_the_user_trains(tmp_path):
    (tmp_path / 'my_losses.py').write_text(
        'from contrastive_jax.losses import nt_xent\n'
        'def doubled(z1, z2, *, tau):\n'
        '    return 2 * nt_xent(z1, z2, temperature=tau)[0]\n'
    )
    done = subprocess.run(
        command('train', f'--config={CONFIG}', f'--workdir={tmp_path / "run"}',
                '--loss=my_losses:doubled,tau=0.2'),
        cwd=ROOT, env={**environment(), 'PYTHONPATH': str(tmp_path)}, capture_output=True,
        text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    same = run('train', f'--config={CONFIG}', f'--workdir={tmp_path / "same"}')
    assert same.returncode == 0
    doubled, plain = (metrics_log.read(tmp_path / name)[0] for name in ('run', 'same'))
    assert doubled['loss'] == pytest.approx(2 * plain['loss'], rel=1e-6)


@pytest.mark.slow
def test_a_run_that_fails_exits_with_1(tmp_path):
    done = run(
        'train', f'--config={CONFIG}', f'--workdir={tmp_path}', '--config.num_steps=20',
        '--config.optimizer.learning_rate=1e38',
    )  # fmt: skip
    assert done.returncode == 1
    assert 'at step' in done.stderr
    assert 'Traceback' not in done.stderr
