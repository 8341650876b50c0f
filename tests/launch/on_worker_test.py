"""What launch/on_worker.sh does on a worker, as real processes in a home of their own."""

import os
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SLEEP = ('sleep', '60')


@pytest.fixture
def worker(tmp_path):
    def ask(*words):
        return subprocess.run(
            ['bash', ROOT / 'launch' / 'on_worker.sh', *words],
            env={**os.environ, 'HOME': str(tmp_path)},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    yield ask
    ask('stop')


def state(worker, *command):
    return worker('status', *command).stdout.strip()


def ended(worker, *command):
    """The state when the run is over."""
    deadline = time.monotonic() + 30
    while (found := state(worker, *command)) == 'state: running' and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def soon(worker, *command):
    """Waits until the run shows: starting takes a moment."""
    deadline = time.monotonic() + 30
    while state(worker, *command) != 'state: running' and time.monotonic() < deadline:
        time.sleep(0.05)


@pytest.mark.parametrize('code', [0, 1, 42])
def test_the_exit_code_and_the_log_are_kept(worker, tmp_path, code):
    command = ('bash', '-c', f'sleep 0.5; echo "two  spaces" "$1"; exit {code}', '-', "it's")
    assert state(worker, *command) == 'state: new'
    assert worker('start', *command).returncode == 0
    soon(worker, *command)
    assert ended(worker, *command) == f'state: exit {code}'
    log = (tmp_path / 'run' / 'log').read_text().splitlines()
    assert "two  spaces it's" in log
    assert worker('log', '1').stdout.strip() == log[-1]


def test_it_runs_in_the_code_with_the_environment_first_in_the_path(worker, tmp_path):
    command = ('bash', '-c', 'pwd; echo "${PATH%%:*}"; sleep 0.5')
    worker('start', *command)
    soon(worker, *command)
    ended(worker, *command)
    log = (tmp_path / 'run' / 'log').read_text().splitlines()
    assert str(ROOT) in log
    assert str(tmp_path / 'venv' / 'bin') in log


def test_stop_lets_a_run_save_and_exit_with_42(worker, tmp_path):
    saving = (
        'trap "sleep 0.3; touch ~/saved; exit 42" TERM; touch ~/up; while :; do sleep 0.1; done'
    )
    command = ('bash', '-c', saving)
    worker('start', *command)
    deadline = time.monotonic() + 30
    while not (tmp_path / 'up').exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert worker('stop').returncode == 0
    assert ended(worker, *command) == 'state: exit 42'
    assert (tmp_path / 'saved').exists()


def test_a_second_run_is_refused_and_another_command_shows_as_busy(worker):
    worker('start', *SLEEP)
    soon(worker, *SLEEP)
    assert worker('start', 'true').returncode == 1
    assert state(worker, 'true') == 'state: busy'
    assert state(worker, *SLEEP) == 'state: running'


def test_a_run_whose_machine_was_cut_off_shows_as_killed(worker, tmp_path):
    (tmp_path / 'run').mkdir()
    (tmp_path / 'run' / 'command').write_text('sleep 60 ')
    (tmp_path / 'run' / 'pid').write_text(str(os.getpid()))  # some other process has the number now
    assert state(worker, *SLEEP) == 'state: killed'
    assert state(worker, 'true') == 'state: new'


@pytest.mark.parametrize('depth', [(), ('--depth=1',)])
def test_a_worker_gets_the_commit_from_whole_and_shallow_clones(tmp_path, depth):
    def git(directory, *words):
        identity = ('-c', 'user.name=a', '-c', 'user.email=a@example.org')
        done = subprocess.run(
            ['git', *identity, *words], cwd=directory, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    (unpack,) = (
        line.split("'--command=")[1].split('; bash launch/on_worker.sh')[0]
        for line in (Path(__file__).parent / 'install.txt').read_text().splitlines()
        if 'git init' in line
    )
    origin, clone = tmp_path / 'origin', tmp_path / 'clone'
    origin.mkdir()
    git(origin, 'init')
    for round in ('first', 'second'):
        (origin / 'file').write_text(round)
        git(origin, 'add', 'file')
        git(origin, 'commit', '--message', round)
    for round in ('third', 'fourth'):  # installed anew after a commit
        git(tmp_path, 'clone', *depth, origin.as_uri(), clone / round)
        git(clone / round, 'bundle', 'create', tmp_path / 'contrastive_jax.bundle', 'HEAD')
        done = subprocess.run(
            ['bash', '-c', unpack], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, '')
        worker = tmp_path / 'contrastive_jax'
        assert git(worker, 'rev-parse', 'HEAD') == git(origin, 'rev-parse', 'HEAD')
        assert git(worker, 'status', '--porcelain') == ''
        (origin / 'file').write_text(round)
        git(origin, 'commit', '--all', '--message', round)
