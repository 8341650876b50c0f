"""A first-in first-out queue of keys: a ring that takes batches of any size."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from contrastive_jax.losses.similarities import unit_rows


class Queue(NamedTuple):
    """The keys [K, d] in storage order, and the place of the oldest, which the next one takes."""

    rows: jax.Array
    oldest: jax.Array


def init(key, size, dimension):
    """A queue of K random unit rows of dimension d, float32."""
    rows = unit_rows(jax.random.normal(key, (size, dimension)))
    return Queue(rows, jnp.zeros((), jnp.int32))


def read(queue):
    """The keys [K, d], oldest first."""
    return jnp.roll(queue.rows, -queue.oldest, axis=0)


def write(queue, keys):
    """The queue after the keys entered in their order and as many of the oldest left.

    Args:
      queue: a `Queue` of K rows.
      keys: [b, d], any b: of more than K the last K stay. They are stored as they are, without
        a gradient.

    Returns:
      The new `Queue`.

    Raises:
      ValueError: keys of another dimension.

    Source: the queue of momentum contrast (MoCo; He et al. 2020, Sec. 3.2), without its rule that
    b divides K.
    """
    size, dimension = queue.rows.shape
    if keys.ndim != 2 or keys.shape[1] != dimension:
        raise ValueError(f'keys must be [b, {dimension}], got {keys.shape}.')
    batch = keys.shape[0]
    entering = jax.lax.stop_gradient(keys[max(batch - size, 0) :]).astype(queue.rows.dtype)
    # Of a batch larger than the queue the first batch - size keys pass through and leave.
    first = queue.oldest + max(batch - size, 0)
    places = (first + jnp.arange(entering.shape[0], dtype=jnp.int32)) % size
    return Queue(queue.rows.at[places].set(entering), (queue.oldest + batch) % size)
