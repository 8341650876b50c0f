"""Real processes that train as one on the loopback, each with 2 simulated devices."""

import os
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


def wait_for_rows(workdir, count, processes, seconds=120):
    """Returns once the log has so many rows, or a process has ended."""
    deadline = time.monotonic() + seconds
    while len(metrics_log.read(workdir)) < count and time.monotonic() < deadline:
        if any(process.poll() is not None for process in processes):
            return
        time.sleep(0.02)


def rows_of(workdir):
    """All rows, without what depends on the clock."""
    return [
        {name: value for name, value in row.items() if name not in ('images_per_second', 'seconds')}
        for row in metrics_log.read(workdir)
    ]
