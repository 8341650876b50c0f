"""How the cosines of positive pairs and of negative pairs are distributed."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.rows import checked_rows, unit_length
from contrastive_jax.evaluation.separation import SIMILARITIES_AT_ONCE
from contrastive_jax.losses.similarities import inner_products


def similarity_histogram(z1, z2, *, bins=100):
    """Densities of the cosine of positive pairs (z1_i, z2_i) and of negative pairs (z1_i, z2_j).

    Exact over all n (n - 1) pairs i != j of the two sets, block by block on the device, without
    any sampling. (With z2 = z1 the negatives are all distinct pairs of one set, each in both
    orders.) Cosines are float32 products; one that falls on an edge may count on either side. Means
    and deviations come from sums in float64, not from the bins.

    Args:
      z1: [n, d] embeddings, n >= 2, arrays of any framework. The cosine with a zero row is zero.
      z2: [n, d], row i of the same example as row i of `z1`.
      bins: number of bins of equal width from -1 to 1.

    Returns:
      A dict of
        edges: [bins + 1] from -1 to 1;
        positive_density, negative_density: [bins], each of integral 1;
        positive_mean, positive_deviation, negative_mean, negative_deviation: floats, deviations of
          the population (divided by the number of pairs);
        overlap: integral of the smaller of the two densities, from 0 (apart) to 1 (equal); wide
          bins blur it upwards.

    Raises:
      BadInput: shapes that do not match, fewer than two rows, rows that are not finite, or no bin.
    """
    z1, z2 = (
        unit_length(checked_rows(rows, name, least=2).astype(np.float64))
        for rows, name in ((z1, 'embeddings z1'), (z2, 'embeddings z2'))
    )
    if z1.shape != z2.shape:
        raise BadInput(f'z1 and z2 must be [n, d] of one shape, got {z1.shape} and {z2.shape}.')
    if bins < 1:
        raise BadInput(f'bins is {bins}; it must be at least 1.')
    count = len(z1)
    edges = np.linspace(-1, 1, bins + 1)
    positives = np.clip(np.sum(z1 * z2, axis=1), -1, 1)
    rows_at_once = max(1, min(count, SIMILARITIES_AT_ONCE // count))
    blocks = _block_counts(
        jnp.asarray(z1, jnp.float32), jnp.asarray(z2, jnp.float32), bins, rows_at_once
    )
    # In 64 bits: there may be more pairs than 32 bits count.
    counts = np.sum(np.asarray(blocks, np.int64), axis=0)
    width, pairs = 2 / bins, count * (count - 1)
    densities = {
        'positive': np.histogram(positives, edges)[0] / (count * width),
        'negative': counts / (pairs * width),
    }
    # The sums of s_ij and of s_ij^2 over all i, j without the matrix.
    total = np.sum(z1, axis=0) @ np.sum(z2, axis=0)
    squares = np.sum((z1.T @ z1) * (z2.T @ z2))
    mean = (total - np.sum(positives)) / pairs
    variance = (squares - np.sum(positives**2)) / pairs - mean**2
    return {
        'edges': edges,
        **{f'{name}_density': density for name, density in densities.items()},
        'positive_mean': float(positives.mean()),
        'positive_deviation': float(positives.std()),
        'negative_mean': float(mean),
        'negative_deviation': float(np.sqrt(max(variance, 0.0))),
        'overlap': float(np.sum(np.minimum(*densities.values())) * width),
    }


@functools.partial(jax.jit, static_argnames=('bins', 'rows_at_once'))
def _block_counts(z1, z2, bins, rows_at_once):
    """Number of pairs i != j in each bin, for each block of rows: int32 [blocks, bins]."""
    count = z1.shape[0]
    blocks = -(-count // rows_at_once)
    numbers = jnp.arange(blocks * rows_at_once, dtype=jnp.int32).reshape(blocks, rows_at_once)

    def count_block(rows):
        cosines = inner_products(z1[jnp.minimum(rows, count - 1)], z2)
        places = jnp.floor((cosines + 1) * np.float32(bins / 2)).astype(jnp.int32)
        places = jnp.clip(places, 0, bins - 1)
        columns = jax.lax.broadcasted_iota(jnp.int32, places.shape, 1)
        left_out = (columns == rows[:, None]) | (rows[:, None] >= count)
        places = jnp.where(left_out, bins, places)
        return jnp.zeros(bins, jnp.int32).at[places].add(1, mode='drop')

    return jax.lax.map(count_block, numbers)
