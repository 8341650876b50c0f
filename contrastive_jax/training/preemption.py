"""SIGTERM: a machine is about to go. The run saves and ends, and a launcher starts it again."""

import contextlib
import itertools
import signal
import threading

import jax
from jax.experimental import multihost_utils

from contrastive_jax.errors import Preempted

# Places where the processes of a run may end together, counted through the life of a process.
_places = itertools.count(1)


class Preemption:
    """Whether SIGTERM has come.

    The loop asks between steps, when the state can be saved. What changes nothing, such as an
    evaluation, may be left at any point: inside `interruptible` the signal raises at once.
    """

    def __init__(self):
        self.requested = False
        self._interrupt = False

    def check(self):
        """Raises `Preempted` if the signal has come; called where the run can end."""
        if self.requested:
            raise Preempted

    @contextlib.contextmanager
    def interruptible(self):
        """A block that raises `Preempted` as soon as the signal comes, or has come before."""
        self._interrupt = True
        try:
            self.check()
            yield
        finally:
            self._interrupt = False

    def notice(self, number=None, frame=None):
        """The handler of the signal. Python calls it between two operations of the main thread."""
        del number, frame
        first, self.requested = not self.requested, True
        if first and self._interrupt:
            raise Preempted


class SharedPreemption:
    """Whether SIGTERM has come to one of several processes, as a `Preemption`.

    JAX notices the signal and carries the word; all processes then end at one place that none has
    passed. They call `check` at the same places, in the same order, also in an evaluation, since
    the others may wait for this one's share of it.
    """

    def check(self):
        """Raises `Preempted` at the place where all processes end."""
        if multihost_utils.reached_preemption_sync_point(next(_places)):
            raise Preempted

    def interruptible(self):
        """A block that only `check` leaves."""
        return contextlib.nullcontext()


@contextlib.contextmanager
def watching():
    """A block in which SIGTERM is noticed instead of ending the process; yields a `Preemption`."""
    if jax.process_count() > 1:
        yield SharedPreemption()
        return
    preemption = Preemption()
    if threading.current_thread() is not threading.main_thread():
        yield preemption  # Python lets the main thread alone handle signals
        return
    before = signal.signal(signal.SIGTERM, preemption.notice)
    try:
        yield preemption
    finally:
        signal.signal(signal.SIGTERM, before)
