"""How several processes end where one fails: it tells why, and the others end with it.

Else they would wait for its share of what they compute together, or at JAX's last barrier, for
minutes and without a word. A process that fails writes why beside JAX's coordinator; a thread of
each process looks there.
"""

import contextlib
import json
import os
import sys
import threading
import time

from jax._src import distributed  # no public name leads to the coordinator's store

# Between two looks at what has failed.
LOOK_SECONDS = 1.0
# What fails on all alike, each tells by itself; so long the others may take to come to it.
GRACE_SECONDS = 10.0

PLACE = 'contrastive_jax/failures/'

_ending = threading.Event()


def several():
    """Whether this process has joined others; asks no device."""
    state = distributed.global_state
    return state.client is not None and state.num_processes > 1


def watch():
    """Ends this process, once it is told that another one failed, if it does not end by itself."""
    threading.Thread(target=_look, daemon=True).start()


def end(code, sentence):
    """Ends this process after a failure, and the others with it.

    Args:
      code: the exit code.
      sentence: why; this process has printed it, those that do not fail by themselves will.
    """
    _ending.set()
    _tell_and_leave(code, sentence)


def _tell_and_leave(code, sentence):
    """Ends this process once all know: one that is gone too early would take others with it."""
    state = distributed.global_state
    with contextlib.suppress(Exception):  # of the coordinator, which may be gone
        state.client.key_value_set(f'{PLACE}{state.process_id}', json.dumps([code, sentence]))
        deadline = time.monotonic() + 2 * GRACE_SECONDS
        while len(_told()) < state.num_processes and time.monotonic() < deadline:
            time.sleep(0.1)
        if state.process_id == 0:
            time.sleep(1.0)  # where the coordinator goes first, JAX aborts the others
    end_at_once(code)


def end_at_once(code):
    """Ends this process with an exit code, without waiting for the others as JAX would."""
    with contextlib.suppress(OSError):  # of a full disk
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _look():
    try:
        while not (told := _told()):
            time.sleep(LOOK_SECONDS)
    except Exception:  # the coordinator is gone, with which JAX ends all, or this process is done
        return
    if _ending.wait(GRACE_SECONDS):
        return
    index = min(told)
    code, sentence = told[index]
    # Below the progress bar, if there is one.
    print(f'\nfailed: On process {index}: {sentence}', file=sys.stderr)
    _tell_and_leave(code, sentence)


def _told():
    """What the processes that failed told, as {index: [exit code, sentence]}."""
    entries = distributed.global_state.client.key_value_dir_get(PLACE)
    return {int(name.rpartition('/')[2]): json.loads(text) for name, text in entries}
