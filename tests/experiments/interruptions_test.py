"""Real processes that are killed, or asked to end, at any moment of a run."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest

from contrastive_jax.training import metrics_log

ROOT = Path(__file__).parents[2]
RUN = (
    'train', '--config=configs/chen2021/randbit_digits.py:smoke', '--config.num_steps=2500',
    '--config.checkpoint_every=20', '--config.log_every=5', '--config.evaluate_every=100',
    '--config.data.num_bits=2',
)  # fmt: skip
MOMENTS = 20


def start(workdir, output=subprocess.DEVNULL):
    environment = {name: value for name, value in os.environ.items() if name != 'XLA_FLAGS'}
    module, *flags = RUN
    return subprocess.Popen(
        [sys.executable, '-m', f'experiments.{module}', f'--workdir={workdir}', *flags],
        cwd=ROOT, env=environment, stdout=output, stderr=output,
    )  # fmt: skip


def rows_of(workdir):
    """All rows, without what depends on the clock."""
    return [
        {name: value for name, value in row.items() if name not in ('images_per_second', 'seconds')}
        for row in metrics_log.read(workdir)
    ]


def arrays_of(workdir):
    """The final parameters of a run, from the files of its checkpoint."""
    import orbax.checkpoint as ocp

    newest = max((workdir / 'checkpoints').iterdir(), key=lambda path: int(path.name))
    return ocp.StandardCheckpointer().restore(newest / 'default')


@pytest.fixture(scope='module')
def whole(tmp_path_factory):
    """A run that nothing interrupts."""
    workdir = tmp_path_factory.mktemp('runs') / 'whole'
    assert start(workdir).wait() == 0
    return workdir


@pytest.mark.slow
def test_a_run_interrupted_at_random_moments_ends_bit_identical(tmp_path, whole):
    broken = tmp_path / 'broken'
    generator = random.Random(0)
    found = []
    while len(found) < MOMENTS:
        process = start(broken)
        before = len(metrics_log.read(broken))
        # Its first new row shows that it trains; then any moment may come: a step, an evaluation, a
        # save.
        deadline = time.monotonic() + 120
        while len(metrics_log.read(broken)) <= before and time.monotonic() < deadline:
            if process.poll() is not None:
                break
            time.sleep(0.01)
        time.sleep(generator.uniform(0.0, 0.6))
        kind = generator.choice([signal.SIGKILL, signal.SIGTERM])
        process.send_signal(kind)
        asked = time.monotonic()
        code = process.wait()
        assert time.monotonic() - asked < 30
        if code == 0:
            break  # it was done before the signal came
        assert code == (42 if kind == signal.SIGTERM else -signal.SIGKILL)
        found.append(kind)
    assert len(found) >= MOMENTS // 2, 'the run ended too early to be interrupted often'
    assert start(broken).wait() == 0
    assert rows_of(broken) == rows_of(whole)
    jax.tree.map(np.testing.assert_array_equal, arrays_of(whole), arrays_of(broken))


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 MiB."""
    disk = tmp_path / 'disk'
    disk.mkdir()
    mount = ['mount', '-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', disk]
    if shutil.which('mount') is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip('file systems cannot be mounted here')
    yield disk
    subprocess.run(['umount', disk], check=True)


@pytest.mark.slow
def test_a_run_on_a_full_disk_fails_naming_what_is_kept_and_goes_on_when_there_is_room(
    tmp_path, small_disk, whole
):
    broken, said = small_disk / 'run', tmp_path / 'said.txt'
    with said.open('w') as output:
        process = start(broken, output)
        deadline = time.monotonic() + 120
        while len(metrics_log.read(broken)) < 20 and time.monotonic() < deadline:
            time.sleep(0.01)
        filler = small_disk / 'filler'
        with filler.open('wb', buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        assert process.wait(timeout=60) == 1
    text = said.read_text()
    assert 'Traceback' not in text, text
    assert 'failed: ' in text
    assert 'No space left' in text or 'RESOURCE_EXHAUSTED' in text
    assert 'is kept' in text
    filler.unlink()
    assert start(broken).wait() == 0
    assert rows_of(broken) == rows_of(whole)
    jax.tree.map(np.testing.assert_array_equal, arrays_of(whole), arrays_of(broken))
