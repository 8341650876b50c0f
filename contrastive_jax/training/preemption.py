"""SIGTERM: a machine is about to go. The run saves and ends, and a launcher starts it again."""

import contextlib
import signal
import threading

from contrastive_jax.errors import Preempted


class Preemption:
    """Whether SIGTERM has come.

    The loop asks between steps, when the state can be saved. What changes nothing, such as an
    evaluation, may be left at any point: inside `interruptible` the signal raises at once.
    """

    def __init__(self):
        self.requested = False
        self._interrupt = False

    @contextlib.contextmanager
    def interruptible(self):
        """A block that raises `Preempted` as soon as the signal comes, or has come before."""
        self._interrupt = True
        try:
            if self.requested:
                raise Preempted
            yield
        finally:
            self._interrupt = False

    def notice(self, number=None, frame=None):
        """The handler of the signal. Python calls it between two operations of the main thread."""
        del number, frame
        first, self.requested = not self.requested, True
        if first and self._interrupt:
            raise Preempted


@contextlib.contextmanager
def watching():
    """A block in which SIGTERM is noticed instead of ending the process; yields a `Preemption`."""
    preemption = Preemption()
    if threading.current_thread() is not threading.main_thread():
        yield preemption  # Python lets the main thread alone handle signals
        return
    before = signal.signal(signal.SIGTERM, preemption.notice)
    try:
        yield preemption
    finally:
        signal.signal(signal.SIGTERM, before)
