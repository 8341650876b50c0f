"""Similarities between rows: the one place that normalises, and that states the precision."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

# By default JAX rounds float32 operands to bfloat16 on TPU and to TF32 on GPU. At a temperature
# of 0.05 that is an error of 0.1 in a logit, so every product of ours states its precision.
PRECISION = jax.lax.Precision.HIGHEST

# Rows shorter than this are divided by it instead of by their length, so that a zero row stays
# zero and the gradient of the normalisation is at most 1 / SHORTEST_ROW.
SHORTEST_ROW = 1e-6

# A learned temperature that reaches zero or passes it counts as this one.
SMALLEST_TEMPERATURE = 1e-6

# Powers of distances and inner products of rows that are not normalised stop here, so that
# float32 does not overflow and every loss stays finite.
LARGEST_POWER = 1e28


@jax.custom_vjp
def unit_rows(rows):
    """Rows scaled to unit length in float32: x / max(|x|, 1e-6).

    Args:
      rows: [n, d], any floating type. Zero rows stay zero; huge rows do not overflow.

    Returns:
      [n, d] float32. The gradient with respect to a row is bounded by 1e6 times the incoming one
      and by the largest number of the input's type. Differentiable in reverse mode.
    """
    return _unit_rows_forward(rows)[0]


def _unit_rows_forward(rows):
    rows = jnp.asarray(rows)
    wide = rows.astype(jnp.float32)
    # The largest entry is taken out first: squares of entries above 1e19 overflow float32.
    scale = jnp.maximum(jnp.max(jnp.abs(wide), axis=-1, keepdims=True), SHORTEST_ROW)
    scaled = wide / scale
    squared_length = jnp.sum(jnp.square(scaled), axis=-1, keepdims=True)
    shortest = jnp.square(SHORTEST_ROW / scale)
    inverse = jax.lax.rsqrt(jnp.maximum(squared_length, shortest))
    return scaled * inverse, (rows, scale, inverse, squared_length > shortest)


def _unit_rows_backward(residuals, incoming):
    """The part of the incoming gradient across the row, over its length.

    Written out because differentiating the lines above keeps three times the memory.
    """
    rows, scale, inverse, long_enough = residuals
    unit = rows.astype(jnp.float32) / scale * inverse
    along = jnp.sum(unit * incoming, axis=-1, keepdims=True)
    across = incoming - unit * jnp.where(long_enough, along, 0.0)
    largest = float(jnp.finfo(rows.dtype).max)  # 1e6 is more than float16 holds.
    return (jnp.clip(across * (inverse / scale), -largest, largest).astype(rows.dtype),)


unit_rows.defvjp(_unit_rows_forward, _unit_rows_backward)


def inner_products(rows, columns):
    """All inner products of two sets of rows, as full-precision float32 products.

    Args:
      rows: [n, d].
      columns: [m, d].

    Returns:
      [n, m] float32.
    """
    return jnp.matmul(rows.astype(jnp.float32), columns.astype(jnp.float32).T, precision=PRECISION)


def bounded(rows):
    """Rows [n, d] cut off at 1e14 / sqrt(d), no gradient beyond: inner products end at 1e28."""
    limit = np.float32((LARGEST_POWER / rows.shape[1]) ** 0.5)
    return jnp.clip(rows, -limit, limit)


def standardized(sets):
    """Sets of rows shifted and scaled together: each dimension to mean 0 and variance 1 / sqrt(d).

    Inner products of the results are those of standardised rows divided by sqrt(d).

    Args:
      sets: list of [n_i, d] float32; mean and variance are over the rows of all of them.

    Returns:
      The list, float32. A dimension that is constant over the rows becomes zero. Entries beyond
      1e28 count as 1e28, and have no gradient.
    """
    sets = [jnp.clip(rows, -LARGEST_POWER, LARGEST_POWER) for rows in sets]
    count = sum(rows.shape[0] for rows in sets)
    # Set by set: joining sets that are split over devices would move every row.
    mean = sum(jnp.sum(rows, axis=0, keepdims=True) for rows in sets) / count
    sets = [rows - mean for rows in sets]
    largest = [jnp.max(jnp.abs(rows), axis=0, keepdims=True) for rows in sets]
    scale = jnp.maximum(functools.reduce(jnp.maximum, largest), SHORTEST_ROW)
    scale = jax.lax.stop_gradient(scale)  # It cancels; see unit_rows.
    sets = [rows / scale for rows in sets]
    variance = sum(jnp.sum(jnp.square(rows), axis=0, keepdims=True) for rows in sets) / count
    inverse = jax.lax.rsqrt(jnp.maximum(variance, jnp.square(SHORTEST_ROW / scale)))
    return [rows * (inverse * np.float32(rows.shape[1] ** -0.25)) for rows in sets]


def interleaved(first, second):
    """[2n, d]: row i of both sets at 2i and 2i + 1, so that rows split over devices stay there."""
    return jnp.stack([first, second], axis=1).reshape(-1, first.shape[1])


def negative_power_distances(rows, columns, *, power):
    """Minus the sum over dimensions of |difference|^power, from the differences themselves.

    (The expansion into inner products loses all digits where rows are long and close.)

    Args:
      rows: [n, d].
      columns: [m, d].
      power: q >= 1.

    Returns:
      [n, m] float32; each dimension's term is at least -1e28.
    """
    difference = rows.astype(jnp.float32)[:, None, :] - columns.astype(jnp.float32)[None, :, :]
    return -jnp.sum(absolute_power(difference, power), axis=-1)


def absolute_power(difference, power):
    """|x|^power for power >= 1, at most 1e28; its gradient at zero is zero."""
    # jnp.abs has slope 1 at zero; this has slope 0.
    size = difference * jnp.sign(difference)
    size = jnp.minimum(size, np.float32(LARGEST_POWER ** (1 / power)))
    return jnp.square(size) if power == 2 else size ** np.float32(power)


@functools.cache
def power_similarity(power):
    """`negative_power_distances` of one power: the same function at each call."""
    return functools.partial(negative_power_distances, power=power)


def scale_by_temperature(rows, temperature, power=2):
    """Rows divided by temperature^(1 / power).

    Inner products of two sets scaled with power 2, and powers of distances of two sets scaled
    with theirs, come out divided by the temperature, dimension by dimension. That keeps the
    matrix of a set with itself symmetric.

    Args:
      rows: [n, d] float32.
      temperature: scalar or [d], positive. Values of a JAX array below 1e-6 count as 1e-6.
      power: the power of a distance; 2 for inner products.

    Returns:
      [n, d] float32.

    Raises:
      ValueError: a number that is not positive, or a shape that is neither () nor (d,).
    """
    if not isinstance(temperature, jax.Array) and not np.all(np.asarray(temperature) > 0):
        raise ValueError(f'temperature must be positive, got {temperature}.')
    temperature = jnp.asarray(temperature, jnp.float32)
    if temperature.shape not in ((), rows.shape[1:]):
        raise ValueError(
            f'temperature must be a scalar or have {rows.shape[1]} entries, one for each '
            f'dimension, got shape {temperature.shape}.'
        )
    temperature = jnp.maximum(temperature, SMALLEST_TEMPERATURE)
    scale = temperature ** np.float32(-1 / power)
    return rows * jnp.broadcast_to(scale, rows.shape)


def check_pairs(loss, first, second, names=('z1', 'z2'), fewest=2):
    """ValueError unless both are [n, d] of one shape with at least `fewest` rows."""
    if first.ndim != 2 or first.shape != second.shape:
        raise ValueError(
            f'{names[0]} and {names[1]} must be [n, d] of one shape, '
            f'got {first.shape} and {second.shape}.'
        )
    if first.shape[0] < fewest:
        raise ValueError(f'{loss} needs at least {fewest} pairs, got {first.shape[0]}.')


def check_rows(name, rows, dimensions):
    """ValueError unless `rows` is [m, dimensions] with at least one row."""
    if rows.ndim != 2 or rows.shape[1] != dimensions or rows.shape[0] < 1:
        raise ValueError(f'{name} must be [m, {dimensions}] with m >= 1, got {rows.shape}.')
