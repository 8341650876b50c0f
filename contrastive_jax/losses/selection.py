"""The largest entries of every row: exact, by bisection, as a mask and without a sort."""

import jax
import jax.numpy as jnp


def largest(values, count):
    """Mask of the `count` largest entries of every row; of equal ones the first.

    Bisection of the values until `count` of them lie at or above the threshold of every row, or,
    where others equal the last of them, until the threshold is that value. No gradient flows.

    Args:
      values: [n, m] float32, finite or -inf. Rows with a NaN have an arbitrary mask.
      count: entries a row, at most as many as the row has finite ones; 0 or more, may be traced,
        a scalar or one a row, [n, 1].

    Returns:
      [n, m] of bool, `count` entries of every row.
    """
    values = jax.lax.stop_gradient(values)

    def open_rows(state):
        low, high = state
        return jnp.any(low < high)

    def halve(state):
        low, high = state
        # Halves are added, so that nothing overflows. The upper of two neighbours is the middle.
        middle = jnp.minimum(low / 2 + high / 2, high)
        middle = jnp.where(middle > low, middle, high)
        found = _counted(values >= middle)
        # A hit closes the row, and so do neighbours: low is then the entry of that rank.
        new_high = jnp.where(found <= count, middle, high)
        new_high = jnp.where((found < count) & (middle == high), low, new_high)
        return jnp.where(found >= count, middle, low), new_high

    finite = jnp.where(values > -jnp.inf, values, jnp.inf)
    bounds = jnp.min(finite, axis=1, keepdims=True), jnp.max(values, axis=1, keepdims=True)
    threshold = jax.lax.while_loop(open_rows, halve, bounds)[0]
    reached = values >= threshold

    def first_of_equals():
        above, equal = values > threshold, values == threshold
        room = count - _counted(above)
        return above | (equal & (jnp.cumsum(equal.astype(jnp.int32), axis=1) <= room))

    return jax.lax.cond(jnp.all(_counted(reached) == count), lambda: reached, first_of_equals)


def _counted(mask):
    # The type is said because a sum of int32 is int64 where double precision is enabled.
    return jnp.sum(mask, axis=1, keepdims=True, dtype=jnp.int32)
