"""Confidence intervals."""

import math

import numpy as np
from scipy import stats

# The normal quantile of a two-sided 95 % interval.
NORMAL_95 = 1.959963984540054


def wilson(correct, total):
    """The 95 % Wilson interval of a proportion.

    (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n), p = correct / n, z = 1.96.

    Args:
      correct: number of successes.
      total: n >= 1.

    Returns:
      (low, high), both in [0, 1]; sensible at 0 and n successes too.

    Source: Wilson 1927.
    """
    share = correct / total
    squared = NORMAL_95**2 / total
    centre = share + squared / 2
    half = NORMAL_95 * math.sqrt(share * (1 - share) / total + squared / (4 * total))
    low, high = (centre - half) / (1 + squared), (centre + half) / (1 + squared)
    # Rounding must not put an end on the wrong side of the share itself.
    return min(max(low, 0.0), share), max(min(high, 1.0), share)


def t_interval(values):
    """The 95 % interval of a mean: mean -+ t s / sqrt(n), by Student's t of n - 1 degrees.

    Args:
      values: n >= 2 observations.

    Returns:
      (low, high).
    """
    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values))
    mean = np.mean(values)
    return float(mean - half), float(mean + half)
