"""Timing two or more sides in turn, so that a machine that drifts slows all of them."""

import subprocess
import sys
import time


def interleaved(sides, rounds):
    """The fastest and the median time of each side, in seconds, over interleaved rounds.

    Args:
      sides: dict of name to a function without arguments that returns when its work is done.
      rounds: how many times each is called, after one call that does not count.

    Returns:
      dict of name to (fastest, median).
    """
    for side in sides.values():
        side()
    times = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            started = time.perf_counter()
            side()
            times[name].append(time.perf_counter() - started)
    return {name: (min(found), sorted(found)[len(found) // 2]) for name, found in times.items()}


def serve(work):
    """Does `work()` for every line that comes in, and prints how many seconds it took.

    For a side that needs a process, or a Python, of its own; see `Served`.
    """
    print('ready', flush=True)
    for _ in sys.stdin:
        started = time.perf_counter()
        work()
        print(time.perf_counter() - started, flush=True)


class Served:
    """A side in a process of its own, which waits while the others work.

    Args:
      command: that ends in `serve`.
    """

    def __init__(self, command):
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._process = subprocess.Popen(command, text=True, **pipes)
        self._line('ready')

    def __call__(self):
        """Does the work once and returns the seconds that it took there."""
        self._process.stdin.write('\n')
        self._process.stdin.flush()
        return float(self._line())

    def end(self):
        """Ends the process."""
        self._process.stdin.close()
        self._process.wait()

    def _line(self, expected=None):
        # Libraries may print, before the work at the latest.
        while line := self._process.stdout.readline():
            if expected is None or line.strip() == expected:
                return line
        raise RuntimeError(f'{self._process.args} ended with {self._process.wait()}.')
