"""A mean over all pairs of rows, and how far it would be off for other rows of the same kind."""

import numpy as np

from contrastive_jax.evaluation.intervals import NORMAL_95


def pair_mean(sums, counts):
    """Mean over pairs of rows with its standard error, from each row's own pairs.

      theta = sum_i s_i / sum_i c_i
      error^2 = n / (n - 1) sum_i (2 (s_i - theta c_i) / sum_k c_k)^2

    A pair belongs to two rows, so that a row moves the mean by twice what it brings to the sum.
    This is the first-order term of a U-statistic (a ratio of two, where the counts differ): rows
    drawn independently of each other. Pairs themselves are not independent, and an error that
    took them so would be too small by up to sqrt(n).

    Args:
      sums: [n], over the pairs of each row.
      counts: [n], number of those pairs; a positive one at least.

    Returns:
      (mean, standard error), floats. The error of one row is zero.

    Source: Hoeffding 1948.
    """
    mean = np.sum(sums) / np.sum(counts)
    shares = 2 * (sums - mean * counts) / np.sum(counts)
    rows = len(shares)
    return float(mean), float(np.sqrt(np.sum(shares**2) * rows / max(rows - 1, 1)))


def with_interval(name, value, error):
    """`name`, `name_low` and `name_high`: the value and its normal 95 % interval."""
    return {
        name: value,
        f'{name}_low': value - NORMAL_95 * error,
        f'{name}_high': value + NORMAL_95 * error,
    }
