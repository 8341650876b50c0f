"""Tolerance: how similar the embeddings of one class are, though no loss says they should be."""

import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.pair_means import pair_mean, with_interval
from contrastive_jax.evaluation.rows import checked_labels, checked_rows, unit_length


def tolerance(z, labels):
    """Mean cosine of distinct rows of one class.

      tolerance = E[ z_i . z_j | l_i = l_j, i != j ]
                = sum_c (|S_c|^2 - Q_c) / sum_c n_c (n_c - 1)

    with S_c the sum of the unit rows of class c, Q_c that of their squared lengths and n_c their
    number: no matrix of pairs. Every pair counts alike, so that a large class counts more than by
    its size. The printed equation lacks the condition, see `tolerance_as_printed`; the paper's
    values, up to 0.61 with ten classes, are those of the conditional mean. Computed in float64.

    Args:
      z: [n, d] embeddings, arrays of any framework. The cosine with a zero row is zero.
      labels: integers [n]; two rows at least share one.

    Returns:
      A float in [-1, 1].

    Raises:
      BadInput: shapes that do not match, rows that are not finite, labels that are not integers,
        or no two rows of one class.

    Source: Wang 2021, Eq. 11 and Table 1.
    """
    return pair_mean(*_same_class_cosines(z, labels))[0]


def tolerance_interval(z, labels):
    """`tolerance`, `tolerance_low` and `tolerance_high`, for rows drawn with their labels.

    The normal 95 % interval from the first-order term of the U-statistic (`pair_means.pair_mean`);
    it covers the draw of the rows, not that of the encoder. Args and Raises as `tolerance`.
    """
    return with_interval('tolerance', *pair_mean(*_same_class_cosines(z, labels)))


def tolerance_as_printed(z, labels):
    """Mean over all distinct pairs of the cosine where the labels are equal and zero elsewhere.

      E[ z_i . z_j 1(l_i = l_j) ],  i != j

    That is `tolerance` times the share of pairs of one class: at most 0.1 with ten even classes.

    Args:
      z: as in `tolerance`.
      labels: as in `tolerance`.

    Returns:
      A float in [-1, 1].

    Raises:
      BadInput: as `tolerance`.

    Source: Wang 2021, Eq. 11, literally.
    """
    sums, counts = _same_class_cosines(z, labels)
    return float(np.sum(sums) / (len(counts) * (len(counts) - 1)))


def checked_classes(z, labels):
    """Unit rows, the class of each and the size of each class, or BadInput.

    Args:
      z: [n, d].
      labels: integers [n].

    Returns:
      float64 [n, d] of unit (or zero) rows, integers [n] from 0, and integers [classes].
    """
    z = checked_rows(z, 'embeddings', least=2).astype(np.float64)
    labels = checked_labels(labels, len(z), 'labels')
    _, classes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if counts.max() < 2:
        raise BadInput(
            f'labels hold {len(counts)} classes of one row each; two rows at least must share one.'
        )
    return unit_length(z), classes, counts


def class_sums(z, classes, counts):
    """Sums [classes, d] of the rows [n, d] of each class, as `checked_classes` gives them."""
    # Rows in order of class: many times as fast as adding them one by one.
    order = np.argsort(classes, kind='stable')
    return np.add.reduceat(z[order], np.cumsum(counts) - counts)


def _same_class_cosines(z, labels):
    """Of each row: the sum of its cosines with the other rows of its class, and their number."""
    z, classes, counts = checked_classes(z, labels)
    own = np.sum(z * z, axis=1)
    with_own = np.sum(z * class_sums(z, classes, counts)[classes], axis=1)
    return with_own - own, counts[classes] - 1.0
