"""Pairs of examples that share nothing but their class, whose information is at most H(C)."""

import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.rows import checked_labels


def same_class_pairs(labels, key, *, num_pairs=None):
    """Pairs that share nothing but their class: its information is at most H(C).

    An example is drawn with replacement, then another one of its class: never itself, by which a
    critic would know it. Examples that are alone in their class are left out.

    Args:
      labels: integers [n].
      key: of the draws.
      num_pairs: how many; None makes n.

    Returns:
      (first, second), int arrays [num_pairs] of places in `labels`.

    Raises:
      BadInput: labels that are not integers [n], no class with two examples, or fewer than 1 pair.

    Source: Lee 2023, Section III (same-class sampling).
    """
    labels = _checked(labels)
    num_pairs = len(labels) if num_pairs is None else num_pairs
    if num_pairs < 1:
        raise BadInput(f'num_pairs is {num_pairs}; it must be at least 1.')
    _, classes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    shared = np.flatnonzero(counts[classes] > 1)
    first_key, second_key = jax.random.split(key)
    first = shared[np.asarray(jax.random.randint(first_key, (num_pairs,), 0, len(shared)))]
    starts, counts = (np.cumsum(counts) - counts)[classes], counts[classes]
    by_class = np.argsort(classes, kind='stable')
    places = np.empty_like(by_class)
    places[by_class] = np.arange(len(classes))
    most = jnp.asarray(counts[first])
    ahead = np.asarray(jax.random.randint(second_key, (num_pairs,), 1, most))
    within = (places[first] - starts[first] + ahead) % counts[first]
    return first, by_class[starts[first] + within]


def disjoint_same_class_pairs(labels, key):
    """As `same_class_pairs`, but each example is in one pair at most: an interval takes them so.

    Each class in random order is cut into pairs; the last of an odd number is left out.

    Args:
      labels: integers [n].
      key: of the order within the classes.

    Returns:
      (first, second), int arrays [m] of places in `labels`, m = sum over classes of floor(n_c / 2).

    Raises:
      BadInput: labels that are not integers [n], or no class with two examples.
    """
    labels = _checked(labels)
    mixed = np.asarray(jax.random.permutation(key, len(labels)))
    # Class after class; a pair begins at every even place of its class.
    by_class = mixed[np.argsort(labels[mixed], kind='stable')]
    _, counts = np.unique(labels, return_counts=True)
    within = np.concatenate([np.arange(count) for count in counts])
    first = np.flatnonzero((within % 2 == 0) & (within + 1 < np.repeat(counts, counts)))
    return by_class[first], by_class[first + 1]


def _checked(labels):
    """Integers [n] of which two at least are equal, or BadInput."""
    labels = checked_labels(labels, np.size(labels), 'labels')
    if len(np.unique(labels)) == len(labels):
        raise BadInput(f'No two of {len(labels)} labels are equal: no class has a pair.')
    return labels
