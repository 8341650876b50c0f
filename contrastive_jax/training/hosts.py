"""Several processes, one a host, that train as one: how they start, agree and end."""

import contextlib
import json

import jax
import numpy as np
from jax.experimental import multihost_utils

from contrastive_jax.errors import BadInput, Preempted, RunFailed
from contrastive_jax.training import endings, rendezvous

AUTOMATIC = 'auto'

# What one process may tell the others that went wrong, by a name that can be sent.
FAILURES = {'bad input': BadInput, 'run failed': RunFailed}

# A process that is silent for so long is gone: the others end then, if not before.
HEARTBEAT_SECONDS = 60
# So long a process that is done waits for the others to be.
SHUTDOWN_SECONDS = 120


def join(coordinator, num_processes=0, process_index=-1, seconds=300.0):
    """Makes this process one of several; does nothing where it is the only one.

    To be called before JAX computes anything or is asked for its devices.

    Args:
      coordinator: host:port of process 0, the same on all; 'auto' where JAX knows the machines
        (Cloud TPU, Kubernetes, Slurm, Open MPI); '' for a run of one process.
      num_processes: how many there are, for a coordinator given as host:port.
      process_index: of this one, from 0.
      seconds: how long to wait for the others.

    Raises:
      BadInput: arguments that say no such group.
      RunFailed: processes are missing, and which.
    """
    if coordinator == AUTOMATIC:
        coordinator, num_processes, process_index = detected(seconds)
    elif coordinator or num_processes or process_index != -1:
        check_group(coordinator, num_processes, process_index)
    if num_processes <= 1:
        return
    rendezvous.meet(coordinator, num_processes, process_index, seconds)
    jax.distributed.initialize(
        coordinator,
        num_processes,
        process_index,
        initialization_timeout=max(int(seconds), 30),
        heartbeat_timeout_seconds=HEARTBEAT_SECONDS,
        shutdown_timeout_seconds=SHUTDOWN_SECONDS,
    )
    endings.watch()


def check_group(coordinator, num_processes, process_index):
    """Raises BadInput unless the three say one place of a group of processes."""
    host, _, port = coordinator.rpartition(':')
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise BadInput(
            f"coordinator is {coordinator!r}; it is host:port of process 0, '{AUTOMATIC}', or '' "
            'for a run of one process.'
        )
    if num_processes < 1 or not 0 <= process_index < num_processes:
        raise BadInput(
            f'process_index is {process_index} and num_processes {num_processes}; each process of '
            'n has another index from 0 to n - 1.'
        )


def detected(seconds):
    """What JAX finds of the group that a machine's surroundings put this process in.

    Returns:
      (coordinator, num_processes, process_index).
    """
    try:
        # No public name, but what `jax.distributed.initialize` asks. Asked by itself, it cannot
        # leave out a group of one, nor tell who is missing.
        from jax._src.clusters import ClusterEnv

        found = ClusterEnv.auto_detect_unset_distributed_params(
            None, None, None, None, None, int(seconds)
        )[:3]
    except Exception as error:  # of the network, of the metadata, of another JAX: any type
        raise BadInput(
            f'coordinator is {AUTOMATIC!r}, but JAX could not find the processes '
            f'({type(error).__name__}: {error}): give host:port, num_processes and process_index.'
        ) from error
    if None in found:
        raise BadInput(
            f'coordinator is {AUTOMATIC!r}, but this is no machine whose group JAX knows (Cloud '
            'TPU, Kubernetes, Slurm, Open MPI): give host:port, num_processes and process_index.'
        )
    return found


def check_joined():
    """Raises BadInput where there are several processes that were not joined."""
    if jax.process_count() > 1 and not jax.distributed.is_initialized():
        raise BadInput(
            f'This is one of {jax.process_count()} processes that share their devices, but they '
            f'were not joined: start each with the coordinator {AUTOMATIC!r} (--coordinator).'
        )


def is_first():
    """Whether this process is the one that writes and prints."""
    return jax.process_index() == 0


def exchange(value):
    """What each process gives, on all of them: a list of JSON values, by process index."""
    if jax.process_count() == 1:
        return [value]
    text = np.frombuffer(json.dumps(value, default=float).encode(), np.uint8)
    lengths = multihost_utils.process_allgather(np.int32(len(text)))
    # Few different widths, so that few programs are compiled.
    padded = np.zeros(max(256, 1 << int(lengths.max() - 1).bit_length()), np.uint8)
    padded[: len(text)] = text
    texts = multihost_utils.process_allgather(padded)
    return [
        json.loads(bytes(row[:length]).decode())
        for row, length in zip(texts, lengths, strict=True)
    ]  # fmt: skip


def on_first(function, *arguments):
    """What a function gives on process 0, on all processes; the others do not call it.

    Args:
      function: returns a JSON value.
      *arguments: its arguments.

    Raises:
      BadInput, RunFailed: what the function raised on process 0.
    """
    if jax.process_count() == 1:
        return function(*arguments)
    value, failure = attempt(function, *arguments) if is_first() else (None, None)
    value, failure = exchange([value, failure])[0]
    if failure:
        raise FAILURES[failure[0]](failure[1])
    return value


def together(function, *arguments):
    """What a function gives on each process, once it succeeded on all.

    Raises:
      BadInput, RunFailed: what the function raised on this process or on the first that it did.
    """
    if jax.process_count() == 1:
        return function(*arguments)
    value, failure = attempt(function, *arguments)
    failures = exchange(failure)
    if failure:
        raise FAILURES[failure[0]](failure[1])
    for index, failure in enumerate(failures):
        if failure:
            raise FAILURES[failure[0]](f'On process {index}: {failure[1]}')
    return value


def attempt(function, *arguments):
    """(what a function gives, None), or (None, [name, sentence]) of one of FAILURES."""
    try:
        return function(*arguments), None
    except tuple(FAILURES.values()) as error:
        name = next(name for name, kind in FAILURES.items() if isinstance(error, kind))
        return None, [name, str(error)]


def check_same(value, name):
    """Raises BadInput unless all processes give the same JSON value."""
    value = json.loads(json.dumps(value, default=repr))  # as it comes back: tuples are lists
    for index, theirs in enumerate(exchange(value)):
        if theirs != value:
            raise BadInput(
                f'{name} differs between processes {jax.process_index()} and {index}: start all '
                'with the same flags but for the index.'
            )


# Failures that need no traceback to be understood.
EXPLAINED = (RunFailed, OSError, jax.errors.JaxRuntimeError, KeyboardInterrupt, SystemExit)


class ProcessLost(RunFailed):
    """One of several processes failed, others perhaps not: they may be gone, or wait for it."""


@contextlib.contextmanager
def losses_named():
    """A block in which whatever one of several processes may fail with alone is a `ProcessLost`.

    The failures of this project are left as they are: all processes share them.
    """
    try:
        yield
    except (BadInput, RunFailed, Preempted):
        raise
    except BaseException as error:  # an interrupt or an exit leaves the others waiting as well
        if jax.process_count() == 1:
            raise
        reason = ' '.join(str(error).split())[:300]
        if isinstance(error, jax.errors.JaxRuntimeError):
            raise ProcessLost(
                f'What {jax.process_count()} processes compute together failed on process '
                f'{jax.process_index()}; if another one ended, it says why: {reason}'
            ) from error
        raise ProcessLost(': '.join(filter(None, [type(error).__name__, reason]))) from error
