"""Real processes that train as one on the loopback, each with 2 simulated devices."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from contrastive_jax.training import metrics_log

ROOT = Path(__file__).parents[2]
CONFIG = '--config=configs/chen2021/randbit_digits.py:smoke'


def environment(devices=2):
    return {
        **os.environ,
        'JAX_PLATFORMS': 'cpu',
        'XLA_FLAGS': f'--xla_force_host_platform_device_count={devices}',
        'PYTHONPATH': str(ROOT),
    }


def free_port():
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


def start(
    workdir, count, *flags, indices=None, program=('-m', 'experiments.train'), devices=2,
    config=CONFIG,
):  # fmt: skip
    """Starts processes of a group of `count`, all of them or those of some indices."""
    port, started = free_port(), []
    for index in range(count) if indices is None else indices:
        group = [
            f'--coordinator=127.0.0.1:{port}', f'--num_processes={count}',
            f'--process_index={index}',
        ]  # fmt: skip
        started.append(
            subprocess.Popen(
                [sys.executable, *program, *([config] if config else []),
                 f'--workdir={workdir}', *flags, *(group if count > 1 else [])],
                cwd=ROOT, env=environment(devices), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True,
            )
        )  # fmt: skip
    return started


def finish(processes, seconds=240):
    """(exit code, stdout, stderr) of each; those that never end are killed."""
    deadline, done = time.monotonic() + seconds, []
    try:
        for process in processes:
            out, err = process.communicate(timeout=max(deadline - time.monotonic(), 1))
            done.append((process.returncode, out, err))
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
    return done


def end_by_sigterm(processes, victims):
    """Sends SIGTERM to some of a group, after which all end soon; what `finish` returns."""
    for victim in victims:
        processes[victim].send_signal(signal.SIGTERM)
    asked = time.monotonic()
    done = finish(processes)
    assert time.monotonic() - asked < 30
    return done


def assert_preempted(done):
    """All have ended with 42 and one sentence about the step that is saved; that sentence."""
    assert [code for code, _, _ in done] == [42] * len(done), done
    said = {err.split('SIGTERM came: ')[1].splitlines()[0] for _, _, err in done}
    assert len(said) == 1, said
    (sentence,) = said
    assert 'is saved' in sentence
    return sentence


def wait_for_rows(workdir, count, processes, seconds=120):
    """Returns once the log has so many rows, or a process has ended."""
    deadline = time.monotonic() + seconds
    while len(metrics_log.read(workdir)) < count:
        if any(process.poll() is not None for process in processes):
            return
        assert time.monotonic() < deadline, f'{workdir} has no {count} rows after {seconds} s'
        time.sleep(0.02)


def rows_of(workdir):
    """All rows, without what depends on the clock."""
    return [
        {name: value for name, value in row.items() if name not in ('images_per_second', 'seconds')}
        for row in metrics_log.read(workdir)
    ]
