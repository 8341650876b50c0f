"""Weighted nearest neighbours: how well the embeddings' own geometry tells the classes."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.rows import checked_sets
from contrastive_jax.losses.similarities import inner_products, unit_rows


def knn_accuracy(train, train_labels, test, test_labels, *, k=20, temperature=0.07):
    """Accuracy of the vote of the k most similar training rows, weighted by exp(cosine / tau).

    Args:
      train: embeddings [n, d] that vote.
      train_labels: integer [n], in [0, classes).
      test: embeddings [m, d] that are classified.
      test_labels: integer [m].
      k: number of neighbours, 1..n.
      temperature: tau > 0. With k = 1 it does not matter.

    Returns:
      The share of test rows whose class wins the vote, in [0, 1]. A tie goes to the lower class.

    Raises:
      BadInput: as `linear_probe`, or k outside 1..n, or a temperature that is not positive.

    Source: Wu et al. 2018, section 3.4; wu2020 uses k = 1.
    """
    train, train_labels, test, test_labels = checked_sets(train, train_labels, test, test_labels)
    check_neighbours(k, len(train))
    if temperature <= 0:
        raise BadInput(f'temperature is {temperature}; it must be positive.')
    # Only classes that occur can be voted for: labels may be as large and as sparse as codes.
    classes, places = np.unique(train_labels, return_inverse=True)
    similarities, neighbours = _nearest(
        jnp.asarray(train, jnp.float32), jnp.asarray(test, jnp.float32), k=k
    )
    predicted = _vote(
        similarities, jnp.asarray(places, jnp.int32)[neighbours], temperature, classes=len(classes)
    )
    return float(np.mean(classes[np.asarray(predicted)] == test_labels))


def check_neighbours(k, count):
    """Raises BadInput unless k of `count` training rows can vote."""
    if not 1 <= k <= count:
        raise BadInput(f'k is {k}, outside 1..{count}, the number of training rows.')


@functools.partial(jax.jit, static_argnames=('k', 'rows_at_once'))
def _nearest(train, test, *, k, rows_at_once=256):
    """Cosines and places [m, k] of the nearest training rows, greatest first, ties by place.

    In blocks, so that no [m, n] matrix is stored. Whatever else is computed in the same loop makes
    XLA's CPU compiler sort whole rows instead of selecting, which takes 30 times as long.
    """
    train = unit_rows(train)

    def select(row):
        return jax.lax.top_k(inner_products(row[None], train)[0], k)

    return jax.lax.map(select, unit_rows(test), batch_size=rows_at_once)


@functools.partial(jax.jit, static_argnames=('classes', 'rows_at_once'))
def _vote(similarities, labels, temperature, *, classes, rows_at_once=256):
    """The winning class [m] of neighbours [m, k], in blocks: no [m, classes] matrix is stored."""

    def classify(row):
        similarity, voted = row
        # The greatest similarity is taken out: its exponential would overflow at small tau.
        weights = jnp.exp((similarity - similarity[0]) / temperature)
        return jnp.argmax(jnp.zeros(classes).at[voted].add(weights))

    return jax.lax.map(classify, (similarities, labels), batch_size=rows_at_once)
