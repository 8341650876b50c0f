"""SIGTERM: a machine is about to go. The run saves and ends, and a launcher starts it again."""

import contextlib
import itertools
import signal
import threading

import jax
from jax.experimental import multihost_utils

from contrastive_jax.errors import Preempted
from contrastive_jax.training import hosts

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

    def on_first(self, function, *arguments):
        """What a function gives; inside `interruptible` it is left to itself when the signal comes.

        On a thread, since the handler of a signal waits for C code, such as a fit, to return.
        """
        if not self._interrupt:
            return function(*arguments)
        work = Work(function, *arguments)
        while not (done := work.outcome(seconds=1.0)):
            pass
        return done[0]

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
        """A block that only `check` and `on_first` leave."""
        return contextlib.nullcontext()

    def on_first(self, function, *arguments):
        """What a function gives on process 0, as `hosts.on_first`; left where all processes end.

        The function runs on a thread, which is then left to itself: it must change nothing.
        """
        work = Work(function, *arguments) if hosts.is_first() else None
        while True:
            self.check()
            if done := hosts.on_first(lambda: work.outcome(seconds=1.0)):
                return done[0]


class Work:
    """A function at work on a thread.

    Args:
      function: what is to be done.
      *arguments: its arguments.
    """

    def __init__(self, function, *arguments):
        self._values, self._error = [], None
        self._thread = threading.Thread(target=self._run, args=(function, *arguments), daemon=True)
        self._thread.start()

    def outcome(self, seconds):
        """[what the function gave], or raises what it raised; [] if it works on after `seconds`."""
        self._thread.join(seconds)
        if self._error is not None:
            raise self._error
        return self._values

    def _run(self, function, *arguments):
        try:
            self._values = [function(*arguments)]
        except BaseException as error:  # raised where the outcome is wanted
            self._error = error


def unwatched():
    """What asks for SIGTERM as this process, or one of several, must; alone it notices none."""
    return SharedPreemption() if jax.process_count() > 1 else Preemption()


@contextlib.contextmanager
def watching():
    """A block in which SIGTERM is noticed instead of ending the process; yields a `Preemption`."""
    preemption = unwatched()
    if isinstance(preemption, SharedPreemption):
        yield preemption  # JAX has its handler since the processes were joined
        return
    if threading.current_thread() is not threading.main_thread():
        yield preemption  # Python lets the main thread alone handle signals
        return
    before = signal.signal(signal.SIGTERM, preemption.notice)
    try:
        yield preemption
    finally:
        signal.signal(signal.SIGTERM, before)
