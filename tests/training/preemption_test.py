"""SIGTERM while the host computes, which no step can notice."""

import hashlib
import os
import signal
import threading
import time

import pytest

from contrastive_jax.errors import BadInput, Preempted
from contrastive_jax.training import preemption
from tests.training import processes


def test_code_that_no_signal_reaches_is_left_at_once():
    with preemption.watching() as preempted:
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM))
        started = time.monotonic()
        timer.start()
        with pytest.raises(Preempted), preempted.interruptible():
            preempted.on_first(hashlib.pbkdf2_hmac, 'sha256', b'one call into C', b'', 20_000_000)
        assert 0.5 <= time.monotonic() - started < 2.5  # the call alone takes longer
        with pytest.raises(Preempted):
            preempted.check()


def test_what_the_work_gives_or_raises_comes_back():
    preempted = preemption.Preemption()
    assert preempted.on_first(max, 1, 2) == 2
    with preempted.interruptible():
        assert preempted.on_first(max, 1, 2) == 2
        assert preempted.on_first(list) == []
        with pytest.raises(BadInput, match='no such'):
            preempted.on_first(refuse)


def refuse():
    raise BadInput('There is no such thing.')


# From the second probe on, the first process takes a minute for each.
SLOW_PROBE = """
import itertools, time
from experiments import train
from contrastive_jax.training import loop
from contrastive_jax.evaluation import protocols

probe, calls = protocols.linear_probe, itertools.count()

def slow(*arguments, regularization=1e-3):
    if next(calls):
        print('fits', flush=True)
        time.sleep(60)
    return probe(*arguments)

protocols.linear_probe = slow
train.cli.run(train.main)
"""


@pytest.mark.slow
def test_a_probe_on_the_first_process_is_left_when_another_is_asked_to_end(tmp_path):
    program = tmp_path / 'program.py'
    program.write_text(SLOW_PROBE)
    flags = ('--config.num_steps=4', '--config.evaluate_every=2')
    group = processes.start(tmp_path / 'run', 2, *flags, program=[str(program)])
    assert any(line == 'fits\n' for line in iter(group[0].stdout.readline, ''))
    done = processes.end_by_sigterm(group, [1])
    assert 'step 2 is saved' in processes.assert_preempted(done)
    assert 'fits' not in done[1][1]
    done = processes.finish(processes.start(tmp_path / 'run', 2, *flags))
    assert [code for code, _, _ in done] == [0, 0], done
    assert [row['step'] for row in processes.rows_of(tmp_path / 'run')] == [1, 2, 2, 3, 4, 4]
