"""SIGTERM and Ctrl-C where no step is under way."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFIG = """
import time
from pathlib import Path
from configs.chen2021 import randbit_digits
def slow(z1, z2):
    Path({reached!r}).touch()
    time.sleep(300)
def get_config():
    if {while_reading}:
        slow(None, None)
    config = randbit_digits.get_config('smoke')
    config.loss = dict(name=slow)
    return config
"""


@pytest.mark.slow
@pytest.mark.parametrize('while_reading', [False, True], ids=['build', 'config'])
def test_before_the_first_step_it_ends_a_run_with_its_exit_code(tmp_path, while_reading):
    reached, config = tmp_path / 'reached', tmp_path / 'slow.py'
    config.write_text(CONFIG.format(reached=str(reached), while_reading=while_reading))
    process = subprocess.Popen(
        [sys.executable, '-m', 'experiments.train', f'--config={config}',
         f'--workdir={tmp_path / "run"}'],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not reached.exists() and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    for _ in range(5):  # a launcher may pass on what the whole group was sent
        process.send_signal(signal.SIGTERM)
        time.sleep(0.02)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 42, said
    assert said == 'preempted: SIGTERM came; what was written before is kept.\n'
    assert not (tmp_path / 'run').exists()


CALLBACK = """
import signal, time, weakref
from experiments import cli
class Thing:
    pass
def main():
    thing = Thing()
    reference = weakref.ref(thing, lambda of: signal.raise_signal(signal.{name}))
    del thing
    time.sleep(60)
cli.run(main)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ('name', 'code', 'sentence'),
    [
        ('SIGINT', 130, '\ninterrupted: what was written before is kept.\n'),
        ('SIGTERM', 42, 'preempted: SIGTERM came; what was written before is kept.\n'),
    ],
)
def test_a_signal_that_falls_into_a_callback_of_c_is_not_lost(name, code, sentence):
    program = CALLBACK.format(name=name)
    done = subprocess.run(
        [sys.executable, '-c', program], cwd=ROOT, capture_output=True, text=True, timeout=50
    )
    assert done.returncode == code, done.stderr
    assert done.stderr == sentence
