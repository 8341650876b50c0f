"""What every objective over a memory bank is made of: checks, positives, partitions, the mean."""

import math

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec

from contrastive_jax.losses import similarities
from contrastive_jax.sharding import automatic_axes

# Rows of a bank's size that are marked at a time.
MARKED_ROWS = 32


def check(anchors, bank, index, **ids):
    """Raises ValueError unless the shapes are [b, d], [N, d], [b] and every other one [b, k]."""
    if anchors.ndim != 2 or bank.ndim != 2 or anchors.shape[1] != bank.shape[1]:
        raise ValueError(
            f'anchors and bank must be [b, d] and [N, d], got {anchors.shape} and {bank.shape}.'
        )
    if bank.shape[0] < 2:
        raise ValueError(f'bank must hold at least 2 rows for negatives, got {bank.shape[0]}.')
    if index.shape != anchors.shape[:1]:
        raise ValueError(f'index must be [b] = {anchors.shape[:1]}, got {index.shape}.')
    for name, array in {'index': index, **ids}.items():
        if not jnp.issubdtype(array.dtype, jnp.integer):
            raise ValueError(f'{name} must hold integer ids of bank rows, got {array.dtype}.')
    for name, array in ids.items():
        if array.ndim != 2 or array.shape[0] != anchors.shape[0]:
            raise ValueError(f'{name} must be [b, k], b = {anchors.shape[0]}, got {array.shape}.')


def inside(ids, bank):
    """Whether each id names a row of the bank; -1, the empty place, does not."""
    return (ids >= 0) & (ids < bank.shape[0])


def rows_of(bank, ids):
    """`bank[ids]` in float32; an id outside the bank reads the nearest row, never NaN."""
    return bank[jnp.clip(ids, 0, bank.shape[0] - 1)].astype(jnp.float32)


def positive_similarities(anchors, bank, index):
    """The similarity of every anchor to its own row of the bank, [b]."""
    return jnp.sum(anchors.astype(jnp.float32) * rows_of(bank, index), axis=1)


def logits(anchors, bank, index, temperature):
    """Similarities over temperature: to the own row [b], and to every row of the bank [b, N]."""
    # The anchors are divided, not the matrix: one [b, N] array less.
    scaled = similarities.scale_by_temperature(anchors.astype(jnp.float32), temperature, power=1)
    return positive_similarities(scaled, bank, index), similarities.inner_products(scaled, bank)


def others(index, bank):
    """Mask [b, N] of the rows of the bank that are not the anchor's own."""
    return jnp.arange(bank.shape[0], dtype=jnp.int32)[None] != index.astype(jnp.int32)[:, None]


def at(matrix, ids):
    """The entries `matrix[i, ids[i, k]]` as [b, k]; what stands at an empty id is arbitrary."""
    return jax.vmap(lambda row, places: row[places])(matrix, jnp.clip(ids, 0, matrix.shape[1] - 1))


def listed(ids, queries, size):
    """Whether `queries[i, k]` is among `ids[i]`, ids below `size`: [b, k] of bool."""
    if ids.shape[1] == 0:
        return jnp.zeros(queries.shape, bool)

    def in_row(pair):
        ids, queries = pair
        places = jnp.where((ids >= 0) & (ids < size), ids, size).astype(jnp.int32)
        marks = jnp.zeros(size, bool).at[places].set(True, mode='drop')
        return marks[jnp.clip(queries, 0, size - 1)]

    # Some rows at a time: the marks of all of them are a fourth of the similarity matrix.
    return by_rows(lambda *pair: jax.lax.map(in_row, pair, batch_size=MARKED_ROWS), ids, queries)


def by_rows(function, *arrays):
    """`function(*arrays)`, all [b, ...], where row i of the result needs the rows i only.

    Where the mesh in context has several devices, each one works on its rows. Left alone the
    compiler gathers the whole [b, N] matrix on every device before a top-k.
    """
    axes = automatic_axes()
    mesh = jax.sharding.get_abstract_mesh()
    if not axes or arrays[0].shape[0] % math.prod(mesh.shape[axis] for axis in axes):
        return function(*arrays)
    rows = PartitionSpec(axes)
    return jax.shard_map(
        function, in_specs=rows, out_specs=rows, axis_names=set(axes), check_vma=False
    )(*arrays)


def log_sum_exp(logits, member):
    """Log of the sum over members of exp(logits), by rows: [b, k], [b, k] -> [b].

    A row without members gives the lowest finite float32 instead of -inf, with a zero gradient.
    """
    present = jnp.where(member, logits, -jnp.inf)
    lowest = jnp.finfo(jnp.float32).min
    largest = jax.lax.stop_gradient(jnp.max(present, axis=1, initial=lowest))
    total = jnp.sum(jnp.exp(present - largest[:, None]), axis=1)
    return largest + jnp.log(jnp.maximum(total, jnp.finfo(jnp.float32).tiny))


def average(values, counted):
    """The mean of the counted values, 0 if there is none."""
    # The division comes last, so that the sum over a sharded batch is one all-reduce.
    total = jnp.sum(jnp.where(counted, values, 0.0))
    return total / jnp.maximum(jnp.sum(counted.astype(jnp.float32)), 1.0)


def softmax_parts(positive, losses, counted):
    """The mean of the anchors' losses [b] and its parts, averaged over the counted anchors.

    A loss here is softplus(log-sum-exp of the negatives - positive): minus the log of the
    positive's softmax share, without the difference of two large numbers.
    """
    loss, alignment = average(losses, counted), -average(positive, counted)
    parts = {
        'alignment': alignment,
        'log_sum_exp': loss - alignment,
        'left_out': jnp.mean(1.0 - counted.astype(jnp.float32)),
    }
    return loss, parts
