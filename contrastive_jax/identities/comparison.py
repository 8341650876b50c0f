"""When two results of a loss are the same, and when one is finite."""

import math

import jax
import numpy as np

# Relative to max(1, |value|) and to the largest entry of the gradient.
ROUNDING = 1e-5


def difference(found, expected):
    """The larger of the differences of two (value, gradients), relative as `ROUNDING` says."""
    value, gradient = float(expected[0]), expected[1]
    largest = abs(float(found[0]) - value) / max(1.0, abs(value))
    scale = max(float(np.max(np.abs(float64(g)))) for g in gradient.values())
    for name, entries in gradient.items():
        gap = float(np.max(np.abs(float64(found[1][name]) - float64(entries))))
        if not math.isfinite(gap):  # max() would drop a NaN
            return math.inf
        largest = max(largest, gap / max(scale, np.finfo(np.float32).tiny))
    return largest if math.isfinite(largest) else math.inf


def float64(array):
    """The array in double precision, as NumPy's."""
    return np.asarray(array, np.float64)


def close(found, expected, tolerance):
    """(holds, detail) of the comparison of two (value, gradients)."""
    largest = difference(found, expected)
    return largest <= tolerance, f'largest difference {largest:.1e}, allowed {tolerance:.0e}'


def all_finite(result):
    """Whether no entry of a tree of arrays is a NaN or infinite."""
    return all(bool(np.all(np.isfinite(float64(leaf)))) for leaf in jax.tree.leaves(result))
