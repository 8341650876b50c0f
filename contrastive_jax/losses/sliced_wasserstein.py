"""Sliced Wasserstein distance between two sets of samples, and the projections that slice."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec

from contrastive_jax.losses import similarities
from contrastive_jax.losses.any_mesh import any_mesh
from contrastive_jax.sharding import automatic_axes

PROJECTIONS = ('orthogonal', 'independent')


def random_projections(dimensions, num_projections, *, key, kind='orthogonal'):
    """Random directions of unit length, one a column.

    Args:
      dimensions: d, the length of a sample.
      num_projections: p >= 1. More than d orthogonal ones are several independent bases of d.
      key: random key.
      kind: 'orthogonal' (columns of Haar-distributed orthogonal matrices) or 'independent'
        (columns uniform on the sphere).

    Returns:
      [d, p] float32.

    Raises:
      ValueError: an unknown kind, or a size below 1.

    Source: Chen 2021, Algorithm 1 (orthogonal).
    """
    if kind not in PROJECTIONS:
        raise ValueError(f'kind must be one of {PROJECTIONS}, got {kind!r}.')
    if dimensions < 1 or num_projections < 1:
        raise ValueError(
            f'dimensions and num_projections must be at least 1, '
            f'got {dimensions} and {num_projections}.'
        )
    if kind == 'independent':
        rows = jax.random.normal(key, (num_projections, dimensions), jnp.float32)
        return similarities.unit_rows(rows).T
    bases = -(-num_projections // dimensions)
    blocks = jax.random.orthogonal(key, dimensions, (bases,), jnp.float32)
    # The columns of each basis side by side.
    return jnp.concatenate(list(blocks), axis=1)[:, :num_projections]


@any_mesh
def sliced_wasserstein(samples, prior_samples, projections):
    """Squared 2-Wasserstein distance of the projections, averaged over the directions.

      SWD = 1/p sum_c W_2^2( {samples_i . w_c}_i , {prior_samples_j . w_c}_j )

    On a line the optimal transport pairs equal quantiles. For equal numbers of samples W_2^2 is
    the mean squared difference of the sorted values; for m and k samples it is the integral over
    the quantile of the squared difference of two step functions, which has at most m + k - 1
    steps. Ties are harmless: equal values may be paired either way, and the sort is stable.

    With more than one device in the mesh in context, rows are projected where they are, an
    all_to_all gives every device all rows of its share of the directions, and it sorts those.

    Args:
      samples: [m, d], any floating type.
      prior_samples: [k, d], any floating type.
      projections: [d, p], one direction a column; see `random_projections`.

    Returns:
      Float32 scalar in squared units of the samples, mean over rows and directions. A difference
      above 1e14 counts as 1e14, so that one huge row leaves the square finite.

    Raises:
      ValueError: shapes that do not fit.

    Source: Chen 2021, Algorithm 1, in the normalisation of its public notebook (the algorithm as
    printed divides by d p instead of m p).
    """
    shapes = samples.shape, prior_samples.shape, projections.shape
    fits = all(len(shape) == 2 for shape in shapes) and (
        shapes[0][1] == shapes[1][1] == shapes[2][0] and all(min(shape) > 0 for shape in shapes)
    )
    if not fits:
        raise ValueError(
            'samples, prior_samples and projections must be [m, d], [k, d] and [d, p] with no '
            f'empty axis, got {shapes[0]}, {shapes[1]} and {shapes[2]}.'
        )
    axes = automatic_axes()
    if axes:
        total = _sharded_total(samples, prior_samples, projections, axes)
    else:
        total = _total(_project(samples, projections), _project(prior_samples, projections))
    return total / projections.shape[1]


def _project(rows, projections):
    """Projections as rows [p, n] in float32: the sorts below run along the fast axis."""
    return similarities.inner_products(projections.T, rows)


def _total(values, prior_values):
    """Sum over the rows of [p, m] and [p, k] of their squared 1-D Wasserstein distance."""
    m, k = values.shape[1], prior_values.shape[1]
    values, prior_values = sort_rows(values), sort_rows(prior_values)
    if m == k:
        return jnp.sum(similarities.absolute_power(values - prior_values, 2)) / m
    # Quantiles in units of 1 / (m k), where both step functions jump at whole numbers.
    edges = np.union1d(np.arange(m + 1) * k, np.arange(k + 1) * m)
    widths = (np.diff(edges) / (m * k)).astype(np.float32)
    difference = values[:, edges[:-1] // k] - prior_values[:, edges[:-1] // m]
    return jnp.sum(similarities.absolute_power(difference, 2) * widths[None, :])


def _sharded_total(samples, prior_samples, projections, axes):
    """`_total` with the rows spread over the mesh axes, then the directions."""
    devices = int(np.prod([jax.sharding.get_abstract_mesh().shape[name] for name in axes]))
    m, k = samples.shape[0], prior_samples.shape[0]

    def pad(array, axis):
        widths = [(0, 0), (0, 0)]
        widths[axis] = (0, -array.shape[axis] % devices)
        return jnp.pad(array, widths)

    def local_total(samples, prior_samples, projections):
        def all_rows(rows, number):
            values = _project(rows, projections)
            values = lax.all_to_all(values, axes, split_axis=0, concat_axis=1, tiled=True)
            return values[:, :number]

        return lax.psum(_total(all_rows(samples, m), all_rows(prior_samples, k)), axes)

    spread = jax.shard_map(
        local_total,
        in_specs=(PartitionSpec(axes), PartitionSpec(axes), PartitionSpec()),
        out_specs=PartitionSpec(),
        axis_names=set(axes),
    )
    # Padded rows are last and cut off before the sort; a padded direction of zeros adds nothing.
    return spread(pad(samples, 0), pad(prior_samples, 0), pad(projections, 1))


@jax.custom_vjp
def sort_rows(values):
    """Each row in ascending order, ties in place, with a gradient that un-sorts it.

    Args:
      values: [p, m] float32. Zeros of either sign are equal.

    Returns:
      [p, m] float32.
    """
    return _from_ordered_bits(lax.sort(_ordered_bits(values), dimension=1, is_stable=False))


@jax.custom_vjp
def _sort_with_order(values):
    """Sorted rows, and where each entry came from."""
    bits, order = lax.platform_dependent(
        _ordered_bits(values), cpu=_sort_packed, default=_sort_pairs
    )
    return _from_ordered_bits(bits), order


def _unsort(order, gradient):
    return lax.platform_dependent(order, gradient, tpu=_unsort_by_sort, default=_unsort_by_scatter)


def _sort_with_order_forward(values):
    ordered, order = _sort_with_order(values)
    return (ordered, order), order


# The forward passes go through a function with a gradient of its own, so that second derivatives
# do not end at the integers.
_sort_with_order.defvjp(
    _sort_with_order_forward, lambda order, gradients: (_unsort(order, gradients[0]),)
)
sort_rows.defvjp(_sort_with_order, lambda order, gradient: (_unsort(order, gradient),))


def _ordered_bits(values):
    """Integers in the order of the floats: they sort faster, and know one zero only."""
    bits = lax.bitcast_convert_type(jnp.where(values == 0.0, 0.0, values), jnp.int32)
    return bits ^ ((bits >> 31) & jnp.int32(0x7FFFFFFF))


def _from_ordered_bits(bits):
    bits = bits ^ ((bits >> 31) & jnp.int32(0x7FFFFFFF))
    return lax.bitcast_convert_type(bits, jnp.float32)


def _sort_pairs(bits):
    """Sorted bits and where each came from, as a stable sort of two arrays."""
    position = lax.broadcasted_iota(jnp.int32, bits.shape, 1)
    return lax.sort((bits, position), dimension=1, num_keys=1, is_stable=True)


def _sort_packed(bits):
    """`_sort_pairs` as a sort of one 64-bit array, which XLA does four times faster on a CPU."""
    with jax.enable_x64(True):
        position = lax.broadcasted_iota(jnp.int64, bits.shape, 1)
        packed = (bits.astype(jnp.int64) << 32) | position
        packed = lax.sort(packed, dimension=1, is_stable=False)
        order = (packed & 0xFFFFFFFF).astype(jnp.int32)
        return (packed >> 32).astype(jnp.int32), order


def _unsort_by_scatter(order, gradient):
    rows = lax.broadcasted_iota(jnp.int32, order.shape, 0)
    return jnp.zeros_like(gradient).at[rows, order].set(gradient, unique_indices=True)


def _unsort_by_sort(order, gradient):
    """A second sort, keyed by position: a TPU scatters entry by entry."""
    return lax.sort((order, gradient), dimension=1, num_keys=1, is_stable=False)[1]
