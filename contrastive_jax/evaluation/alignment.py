"""Alignment: how far apart the embeddings of a positive pair are."""

import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.pair_means import with_interval
from contrastive_jax.evaluation.rows import checked_rows, unit_length
from contrastive_jax.evaluation.tolerance import checked_classes, class_sums


def alignment(z1, z2):
    """Mean squared distance of the unit rows of positive pairs.

      alignment = mean_i |z1_i - z2_i|^2,  from 0 (equal) over 2 (unrelated) to 4 (opposite)

    Computed in float64. A zero row has no direction and stays at the origin, at distance 1 from
    every other: two zero rows are aligned.

    Args:
      z1: [n, d] embeddings of the first views, arrays of any framework, n >= 1.
      z2: [n, d], row i of the same example as row i of `z1`.

    Returns:
      A float in [0, 4].

    Raises:
      BadInput: shapes that do not match, or rows that are not finite.

    Source: Wang and Isola 2020, with alpha = 2.
    """
    return float(np.mean(_squared_distances(z1, z2)))


def alignment_interval(z1, z2):
    """`alignment`, `alignment_low` and `alignment_high`, for pairs drawn independently.

    The normal 95 % interval of a mean; it covers the draw of the pairs, not that of the encoder.
    Args and Raises as `alignment`, with n >= 2.
    """
    distances = _squared_distances(z1, z2, least=2)
    error = np.std(distances, ddof=1) / np.sqrt(len(distances))
    return with_interval('alignment', float(np.mean(distances)), float(error))


def same_class_alignment(z, labels):
    """Mean squared distance of the unit rows of distinct rows of one class.

      mean of |z_i - z_j|^2 over i != j with equal labels = 2 sum_c n_c W_c / sum_c n_c (n_c - 1)

    with n_c rows in class c and W_c the sum of their squared distances to their mean: no matrix of
    pairs. Where no row is zero it is 2 - 2 `tolerance`, to rounding.

    Args:
      z: [n, d] embeddings, arrays of any framework.
      labels: integers [n]; two rows at least share one.

    Returns:
      A float in [0, 4].

    Raises:
      BadInput: as `tolerance`.

    Source: Lee et al. 2023, Section III (same-class pairs).
    """
    z, classes, counts = checked_classes(z, labels)
    means = class_sums(z, classes, counts) / counts[:, None]
    within = np.sum((z - means[classes]) ** 2, axis=1)
    return float(2 * np.sum(counts[classes] * within) / np.sum(counts * (counts - 1.0)))


def _squared_distances(z1, z2, least=1):
    z1 = checked_rows(z1, 'embeddings z1', least=least).astype(np.float64)
    z2 = checked_rows(z2, 'embeddings z2', least=least).astype(np.float64)
    if z1.shape != z2.shape:
        raise BadInput(f'z1 and z2 must be [n, d] of one shape, got {z1.shape} and {z2.shape}.')
    return np.sum((unit_length(z1) - unit_length(z2)) ** 2, axis=1)
