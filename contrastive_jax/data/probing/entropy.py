"""The entropy of what was drawn."""

import numpy as np


def entropy_bits(values):
    """Empirical entropy of integers [n] in bits: -sum_v p(v) log2 p(v)."""
    _, counts = np.unique(np.asarray(values), return_counts=True)
    shares = counts / counts.sum()
    return float(-np.sum(shares * np.log2(shares))) + 0.0
