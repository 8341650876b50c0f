"""A memory bank: one unit row per example, a moving average of the example's features."""

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec

from contrastive_jax.losses.similarities import unit_rows
from contrastive_jax.sharding import automatic_axes


def init(key, size, dimension):
    """Random unit rows: uniform entries, then normalised.

    Args:
      key: a random key.
      size: N, rows: the number of examples.
      dimension: d.

    Returns:
      The bank [N, d], float32.

    Source: Wang 2021, Sec. 5 and the public code of instance discrimination, with rows normalised.
    """
    return unit_rows(jax.random.uniform(key, (size, dimension), minval=-1.0, maxval=1.0))


def read(bank, index):
    """The rows `bank[index]`, [b, d]; an index outside the bank reads the nearest row."""
    return bank[jnp.clip(index, 0, bank.shape[0] - 1)]


def write(bank, index, features, *, momentum=0.5):
    """The bank after its rows moved towards this step's features.

      bank_i <- unit(m bank_i + (1 - m) unit(features)),   m the momentum.

    Args:
      bank: unit rows [N, d].
      index: rows to move [b], integers. Of an index that stands there twice the last feature
        counts, on any number of devices; an index outside 0..N-1 writes nothing.
      features: [b, d], any floating type; no gradient flows into the bank.
      momentum: m in [0, 1); 0 replaces the rows.

    Returns:
      The new bank [N, d], of the type of the old one.

    Raises:
      ValueError: shapes that do not match, or a momentum outside [0, 1).

    Source: Wu 2020, Eq. 7 with its (1 - m) and the renormalisation of the public code.
    """
    if features.shape != (index.shape[0], bank.shape[1]):
        raise ValueError(
            f'features must be [b, d] = {(index.shape[0], bank.shape[1])}, got {features.shape}.'
        )
    if not 0 <= momentum < 1:
        raise ValueError(f'momentum must be in [0, 1), got {momentum}.')
    size = bank.shape[0]
    features = unit_rows(jax.lax.stop_gradient(features))
    rows = unit_rows(momentum * read(bank, index).astype(jnp.float32) + (1 - momentum) * features)
    # Scatter leaves open which of several writers of a row wins; the maximum of places does not.
    index = jnp.where((index >= 0) & (index < size), index, size).astype(jnp.int32)
    if automatic_axes():
        # Where each device has a share of them, devices would exchange all N maxima, not b places.
        index = jax.lax.with_sharding_constraint(index, PartitionSpec())
    place = jnp.arange(index.shape[0], dtype=jnp.int32)
    last = jnp.full((size + 1,), -1, jnp.int32).at[index].max(place)
    winner = jnp.where(last[index] == place, index, size)
    return bank.at[winner].set(rows.astype(bank.dtype), mode='drop')
