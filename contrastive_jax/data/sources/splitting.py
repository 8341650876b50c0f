"""Train and test parts of data that come without them."""

import hashlib

import numpy as np

# One example in ten is held out.
SHARE = 10


def held_out(keys):
    """Which examples are of the test part, by a hash of a text that belongs to each.

    The answer for one example depends on its own text alone: adding or removing others moves
    nothing between train and test.

    Args:
      keys: n texts, such as relative paths or ids.

    Returns:
      bool [n]; true for about one in ten.
    """
    digests = (hashlib.sha256(str(key).encode()).digest()[:8] for key in keys)
    return np.array([int.from_bytes(digest, 'big') % SHARE == 0 for digest in digests], bool)


def of_split(keys, split):
    """The positions [m] of the examples of 'train' or 'test' among n texts."""
    is_test = held_out(keys)
    return np.flatnonzero(is_test if split == 'test' else ~is_test)
