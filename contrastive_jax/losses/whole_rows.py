"""Sums over rows of a function of a whole row of products, such as the largest of them.

What a running maximum and sum can tell goes through `streaming`; a rank needs the whole row.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax

from contrastive_jax.losses import similarities
from contrastive_jax.losses.blocks import in_blocks, over_devices
from contrastive_jax.sharding import automatic_axes

# Enough for the products to be quick, and few beside n.
ROWS_AT_A_TIME = 64


def sum_over_rows(function, rows, *row_arrays, exclude_groups_of=0):
    """Sum of a function of each row's inner products with all rows, a block of rows at a time.

      sum_i function([rows_i . rows_j for all j], row_arrays_i)

    The gradient is taken together with the value: a block of products is computed once and
    dropped, so memory is linear in n. Differentiable in reverse mode with respect to `rows` and
    `row_arrays`. Devices as in `streaming.log_sum_exp`.

    Args:
      function: of a block's products [r, n], float32 and -inf where left out, and its part of
        `row_arrays`, to the terms [r] and a pytree of further [r, ...] arrays without a gradient.
      rows: [n, d], any floating type.
      *row_arrays: [n, ...] float32.
      exclude_groups_of: g >= 0; column j is left out of row i where j // g == i // g.

    Returns:
      The sum, a float32 scalar, and the further arrays of all rows, [n, ...].
    """
    rows = jnp.asarray(rows, jnp.float32)
    work = functools.partial(_sums, function, rows.shape[0], exclude_groups_of)
    axes = automatic_axes()
    if axes:
        sums, further = over_devices(work, axes, rows, rows, *row_arrays)
    else:
        sums, further = work(rows, rows, jnp.int32(0), *row_arrays)
    return jnp.sum(sums), further


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def _sums(function, size, group, rows, columns, offset, *row_arrays):
    """The sum over these rows, [1], and the further arrays; `offset`: the number of the first."""
    work, blocks = _block_by_block(function, size, group, rows, offset, row_arrays)
    sums, further = lax.map(lambda block: work(columns, *block), blocks)
    return jnp.sum(sums)[None], _joined(further, rows)


def _forward(function, size, group, rows, columns, offset, *row_arrays):
    work, blocks = _block_by_block(function, size, group, rows, offset, row_arrays)
    differentiated = (0, *range(2, 3 + len(row_arrays)))
    with_gradients = jax.value_and_grad(work, differentiated, has_aux=True)

    def visit(of_columns, block):
        value, (more, *of_block) = with_gradients(columns, *block)
        return of_columns + more, (value, of_block)

    of_columns, (values, of_blocks) = lax.scan(visit, jnp.zeros_like(columns), blocks)
    sums, further = values
    outputs = jnp.sum(sums)[None], _joined(further, rows)
    return outputs, (of_columns, _joined(of_blocks, rows))


def _backward(function, size, group, gradients, cotangents):
    of_columns, of_rows = gradients
    of_rows, of_columns, *others = (
        cotangents[0][0] * gradient for gradient in (of_rows[0], of_columns, *of_rows[1:])
    )
    return of_rows, of_columns, None, *others


_sums.defvjp(_forward, _backward)


def _block_by_block(function, size, group, rows, offset, row_arrays):
    """Function of all columns and a block to its sum, and the blocks: first row and arrays."""
    count = min(ROWS_AT_A_TIME, rows.shape[0])
    blocks = [in_blocks(array, count) for array in (rows, *row_arrays)]
    last = jnp.minimum(offset + rows.shape[0], size)
    first_rows = offset + count * jnp.arange(blocks[0].shape[0], dtype=jnp.int32)

    def work(columns, first_row, rows, *row_arrays):
        products = similarities.inner_products(rows, columns)
        row = first_row + lax.broadcasted_iota(jnp.int32, products.shape, 0)
        column = lax.broadcasted_iota(jnp.int32, products.shape, 1)
        # Columns behind `size` fill up the devices' shares.
        keep = column < size
        if group:
            keep &= row // group != column // group
        terms, further = function(jnp.where(keep, products, -jnp.inf), *row_arrays)
        # Rows behind `last` fill up the last block: on a device they bear the next one's numbers.
        return jnp.sum(jnp.where(row[:, 0] < last, terms, 0.0)), further

    return work, (first_rows, *blocks)


def _joined(blocks, rows):
    """Undoes `in_blocks` for a pytree of arrays of these rows."""
    return jax.tree.map(lambda array: array.reshape(-1, *array.shape[2:])[: rows.shape[0]], blocks)
