"""The --dry_run of every script, compared with the reviewed texts beside this file; bad flags."""

import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SCRIPTS = sorted(path.name for path in (ROOT / 'launch').glob('*.sh'))
COMMANDS = [name for name in SCRIPTS if name not in ('common.sh', 'settings.sh', 'on_worker.sh')]
TRAIN = (
    '--', 'python', '-m', 'experiments.train', '--config=configs/chen2021/randbit_digits.py',
    '--loss=nt_xent,temperature=0.2', '--workdir=gs://my-bucket/runs/one',
)  # fmt: skip
SWEEP = (
    '--', '--config=configs/chen2021/randbit_digits.py', '--workdir=gs://my-bucket/runs/sweep',
    '--axis', 'data.num_bits=0,4,8',
)  # fmt: skip
DRY_RUNS = {
    'create_queued_spot': ('create.sh',),
    'create_queued_on_demand': ('create.sh', '--capacity=on_demand', '--type=v6e-8'),
    'create_queued_reserved': ('create.sh', '--capacity=reserved', '--project=my-project'),
    'create_direct_spot': ('create.sh', '--request=direct', '--type=v5p-8'),
    'create_direct_on_demand': (
        'create.sh', '--request=direct', '--capacity=on_demand', '--type=v4-8', '--no_wait',
    ),
    'create_direct_reserved': (
        'create.sh', '--request=direct', '--capacity=reserved', '--version=another',
    ),
    'install': ('install.sh', '--name=probe'),
    'prepare_data': ('prepare_data.sh', '--dataset=coco/2017', '--bucket=gs://my-bucket'),
    'run': ('run.sh', '--name=probe', *TRAIN),
    'logs': ('logs.sh', '--worker=1'),
    'stop': ('stop.sh', '--zone=us-central1-a'),
    'watch': ('watch.sh', '--name=probe', *TRAIN),
    'sweep_one_tpu_a_point': ('sweep.sh', '--name=bits', *SWEEP),
    'sweep_in_turn': ('sweep.sh', '--name=bits', '--tpus=1', '--request=direct', *SWEEP),
    'delete_queued': ('delete.sh', '--project=my-project'),
    'delete_direct': ('delete.sh', '--request=direct'),
}  # fmt: skip


def shown(cloud, script, *flags):
    """What --dry_run prints, with the places of this computer left out."""
    cloud.environment['PYTHON'] = str(cloud.program('three', '#!/bin/sh\necho 3\n'))
    done = cloud.run(script, '--dry_run', *flags)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ''
    return done.stdout.replace(str(cloud.directory), '/tmp').replace(str(ROOT), '~/contrastive_jax')


@pytest.mark.parametrize('name', DRY_RUNS)
def test_a_dry_run_prints_the_reviewed_commands_and_asks_nothing(cloud, name):
    assert shown(cloud, *DRY_RUNS[name]) == (HERE / f'{name}.txt').read_text()
    assert cloud.calls() == []


def test_the_printed_line_is_what_is_run(cloud):
    flags = ('--', 'bash', '-c', """echo "it's" '$HOME' \\ & exit""")
    (printed,) = shown(cloud, 'run.sh', *flags).splitlines()
    assert cloud.run('run.sh', *flags, looks=[('ACTIVE', 'READY', 'new')]).returncode == 0
    (call,) = cloud.calls()
    assert shlex.split(printed) == ['gcloud', *call]
    (remote,) = (word for word in call if word.startswith('--command='))
    assert shlex.split(remote.removeprefix('--command='))[3:] == list(flags[1:])


def test_every_reviewed_text_belongs_to_a_dry_run():
    assert {path.stem for path in HERE.glob('*.txt')} == set(DRY_RUNS)


@pytest.mark.parametrize('script', COMMANDS)
def test_help_is_the_comment_at_the_head_of_the_script(cloud, script):
    done = cloud.run(script, '--help')
    assert done.returncode == 0
    assert f'launch/{script}' in done.stdout
    assert cloud.run(script, '--helpp').returncode == 2


@pytest.mark.parametrize(
    ('call', 'sentence'),
    [
        (('create.sh', '--capacity=cheap'), "--capacity is 'cheap'; it is spot, reserved or"),
        (('create.sh', '--request=now'), "--request is 'now'; it is queued or direct."),
        (('create.sh', '--type=v5e-16'), "--type is 'v5e-16'; it looks like v5litepod-16"),
        (('create.sh', '--nmae=x'), '--nmae=... is not a flag of create.sh; those are --name='),
        (('create.sh', '--name'), '--name needs a value'),
        (('create.sh', '--name=A'), "--name is 'A'; it takes small letters"),
        (('create.sh', '--zone='), '--zone is empty'),
        (('create.sh', '--poll=soon'), "--poll is 'soon'; it is a whole number."),
        (('create.sh', 'x'), "'x' is not a flag"),
        (('run.sh',), 'the command is missing; it follows a lone --'),
        (('watch.sh',), 'the command is missing; it follows a lone --'),
        (('sweep.sh',), 'the flags of the sweep are missing'),
        (('prepare_data.sh', '--bucket=gs://b'), '--dataset is missing'),
        (('prepare_data.sh', '--dataset=mnist', '--bucket=b'), "--bucket is 'b'; it looks like"),
    ],
)
def test_bad_flags_exit_with_2_and_one_sentence(cloud, call, sentence):
    done = cloud.run(*call)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ''
    assert cloud.calls() == []


def test_create_waits_until_the_tpu_is_ready(cloud):
    looks = [('WAITING_FOR_RESOURCES', '', ''), ('offline', '', ''), ('ACTIVE', 'READY', '')]
    done = cloud.run('create.sh', '--poll=0', looks=looks)
    assert done.returncode == 0
    assert [line.split(': ')[1] for line in done.stdout.splitlines()] == [
        'waiting', 'unknown', 'ready',
    ]  # fmt: skip


def test_create_says_so_when_the_request_fails(cloud):
    done = cloud.run('create.sh', '--poll=0', looks=[('FAILED', '', '')])
    assert done.returncode == 1
    assert 'launch/delete.sh --name=contrastive removes it' in done.stderr


def test_a_sweep_goes_through_all_points_and_deletes_its_tpus(cloud):
    cloud.environment['PYTHON'] = str(cloud.program('three', '#!/bin/sh\necho 3\n'))
    run = ('ACTIVE', 'READY', 'exit 0')
    # Both TPUs share the looks: each command is started at its first one and done at its second.
    done = cloud.run('sweep.sh', '--name=bits', '--tpus=2', '--poll=0', *SWEEP, looks=[run])
    assert done.returncode == 0, done.stderr
    starts = [' '.join(call) for call in cloud.calls() if 'on_worker.sh start' in ' '.join(call)]
    assert sorted((line.split()[4], line[-1]) for line in starts) == [
        ('bits-0', '0'), ('bits-0', '2'), ('bits-1', '1'),
    ]  # fmt: skip
    deleted = [call[4] for call in cloud.calls() if 'delete' in call]
    assert sorted(deleted) == ['bits-0', 'bits-1']


def test_an_interrupted_sweep_leaves_no_watcher_behind_and_says_what_costs(cloud):
    cloud.environment['PYTHON'] = str(cloud.program('three', '#!/bin/sh\necho 3\n'))
    process = cloud.start(
        'sweep.sh', '--name=bits', '--tpus=2', *SWEEP, looks=[('ACTIVE', 'READY', 'running')]
    )
    deadline = time.monotonic() + 60
    while len(cloud.calls()) < 6 and time.monotonic() < deadline:  # both have looked once
        time.sleep(0.1)
    process.terminate()
    said, _ = process.communicate(timeout=60)  # returns when the last one has closed its output
    assert process.returncode == 130
    assert cloud.deeds() == []
    for name in ('bits-0', 'bits-1'):
        assert f'launch/delete.sh --name={name} ends both' in said


def test_every_line_of_the_guide_is_one_that_the_scripts_take(cloud):
    cloud.environment['PYTHON'] = str(cloud.program('three', '#!/bin/sh\necho 3\n'))
    guide = (ROOT / 'launch' / 'README.md').read_text()
    lines = [line.split('#')[0].split() for line in guide.splitlines() if line[:7] == 'launch/']
    assert len(lines) == 8
    for script, *flags in lines:
        done = cloud.run(script.removeprefix('launch/'), '--dry_run', *flags)
        assert (done.returncode, done.stderr) == (0, '')
    for script in COMMANDS:
        assert f'`{script}' in guide


def test_a_sweep_that_cannot_be_counted_asks_for_no_tpu(cloud):
    cloud.environment['PYTHON'] = str(cloud.program('bad', '#!/bin/sh\necho no >&2; exit 2\n'))
    assert cloud.run('sweep.sh', *SWEEP).returncode == 2
    assert cloud.calls() == []


@pytest.mark.parametrize('script', SCRIPTS)
def test_the_shell_reads_the_script(script):
    done = subprocess.run(
        ['bash', '-n', ROOT / 'launch' / script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, '')


@pytest.mark.skipif(shutil.which('shellcheck') is None, reason='shellcheck is not installed')
def test_shellcheck_finds_nothing():
    done = subprocess.run(
        ['shellcheck', '-x', *(f'launch/{name}' for name in SCRIPTS)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == ''
    assert done.returncode == 0
