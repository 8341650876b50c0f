"""Timing two or more sides in turn, so that a machine that drifts slows all of them."""

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
