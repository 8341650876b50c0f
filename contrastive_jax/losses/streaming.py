"""Log-sum-exp over all pairs of rows, block by block: exact, and linear in memory.

Every loss of ours that needs an n x n matrix of logits only to reduce its rows goes through here.
The gradient is the exact softmax-weighted sum; its exponentials are computed again block by block
instead of being stored.
"""

import dataclasses
import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from contrastive_jax.losses import similarities
from contrastive_jax.losses.blocks import in_blocks, over_devices
from contrastive_jax.sharding import automatic_axes

# A block of float32 logits of this side is 1 MiB: it stays in a core's cache, and smaller ones
# lose more to the loop than they gain.
LARGEST_BLOCK = 512

# Start of the running maximum. Finite, because -inf - -inf is NaN.
LOWEST = float(np.finfo(np.float32).min)


def log_sum_exp(
    rows,
    columns=None,
    *,
    exclude_groups_of=0,
    positives=None,
    similarity=similarities.inner_products,
    block_size=None,
):
    """Log-sum-exp of the logits of each row against all columns, without storing the matrix.

      out_i = log sum_{j not excluded} exp(similarity(rows_i, columns_j))

    A temperature is applied to both sides before, by `similarities.scale_by_temperature`: a
    scalar or one per dimension, traced or not. A running
    maximum is subtracted, so every temperature is safe. Differentiable in reverse mode with
    respect to `rows`, `columns` and `positives`. Without `columns` only the blocks of one triangle
    of the symmetric matrix are computed. Where the mesh in context has more than one device the
    rows are split over it and each device sees all columns: one all_gather, none in a loop.

    Args:
      rows: [n, d], any floating type.
      columns: [m, d], or None for the rows against themselves.
      exclude_groups_of: g >= 0. Column j is left out of the sum of row i where j // g == i // g:
        0 keeps all, 1 leaves out the row itself (or column i of row i), 2 leaves out the row and
        its partner where the two views are interleaved.
      positives: [n], one more logit for each row, or None.
      similarity: function of [r, d] and [c, d] to [r, c] float32, finite, the same function at
        each call; symmetric where `columns` is None.
      block_size: rows and columns in a block, at least 1; None chooses it from n and m.

    Returns:
      [n] float32, in nats.

    Raises:
      ValueError: shapes that do not fit, a block size below 1, or no column left for a row.
    """
    total = log_sum_exp_and_largest(
        rows,
        columns,
        exclude_groups_of=exclude_groups_of,
        similarity=similarity,
        block_size=block_size,
    )[0]
    return total if positives is None else jnp.logaddexp(total, positives)


def log_sum_exp_and_largest(
    rows,
    columns=None,
    *,
    exclude_groups_of=0,
    similarity=similarities.inner_products,
    block_size=None,
    whole_columns=False,
):
    """As `log_sum_exp`, and the largest logit of each row, [n] float32, which has no gradient.

    With `whole_columns` the columns lie on every device, as a queue does, and are not gathered.
    """
    candidates = rows if columns is None else columns
    sums = 'symmetric' if columns is None else 'rows'
    plan = _checked_plan(rows, candidates, similarity, block_size, exclude_groups_of, sums)
    rows = jnp.asarray(rows, jnp.float32)
    candidates = rows if columns is None else jnp.asarray(columns, jnp.float32)
    axes = automatic_axes()
    if axes:
        everyone = functools.partial(_blocked, dataclasses.replace(plan, sums='rows'))
        return over_devices(everyone, axes, rows, candidates, whole_columns=whole_columns)[0]
    return _blocked(plan, rows, candidates, jnp.int32(0))[0]


def log_sum_exp_both_ways(rows, columns, *, exclude_groups_of=0, block_size=None):
    """`log_sum_exp_and_largest` of rows against columns and of columns against rows.

    On one device both come out of one pass over the blocks of inner products.

    Args:
      rows: [n, d], any floating type.
      columns: [m, d].
      exclude_groups_of: as in `log_sum_exp`.
      block_size: as in `log_sum_exp`.

    Returns:
      A pair for the rows, two [n] float32 arrays, and a pair for the columns, two of [m].
    """
    options = {'exclude_groups_of': exclude_groups_of, 'block_size': block_size}
    if automatic_axes():
        first = log_sum_exp_and_largest(rows, columns, **options)
        return first, log_sum_exp_and_largest(columns, rows, **options)
    similarity = similarities.inner_products
    for left, right in ((columns, rows), (rows, columns)):
        plan = _checked_plan(left, right, similarity, block_size, exclude_groups_of, 'both')
    rows, columns = jnp.asarray(rows, jnp.float32), jnp.asarray(columns, jnp.float32)
    return _blocked(plan, rows, columns, jnp.int32(0))


def _checked_plan(rows, columns, similarity, block_size, group, sums):
    if rows.ndim != 2 or columns.ndim != 2 or rows.shape[1] != columns.shape[1]:
        raise ValueError(
            f'rows and columns must be [n, d] and [m, d], got {rows.shape} and {columns.shape}.'
        )
    if block_size is not None and block_size < 1:
        raise ValueError(f'block_size must be None or at least 1, got {block_size}.')
    if rows.shape[0] < 1 or not 0 <= group < columns.shape[0]:
        raise ValueError(
            f'each row needs a column that is left: exclude_groups_of={group} with '
            f'{rows.shape[0]} rows and {columns.shape[0]} columns.'
        )
    block = block_size or LARGEST_BLOCK
    return _Plan(similarity, block, group, rows.shape[0], columns.shape[0], sums)


@dataclasses.dataclass(frozen=True)
class _Plan:
    """What is known while tracing: one static argument instead of six."""

    similarity: Callable
    block: int
    group: int
    rows: int  # rows and columns that count; any behind them are padding
    columns: int
    sums: str  # of 'rows'; of 'both'; 'symmetric': columns are the rows, so one triangle is enough

    def blocks(self, rows, columns):
        """Sides of a block, and the blocks to visit: for their rows only, and for both sides."""
        row_block, column_block = min(self.block, rows), min(self.block, columns)
        if self.sums == 'symmetric':
            # No group may straddle two blocks: off the diagonal nothing is left out.
            group = max(self.group, 1)
            row_block = column_block = group * math.ceil(row_block / group)
        grid = math.ceil(rows / row_block), math.ceil(columns / column_block)
        if self.sums == 'symmetric':
            visits = (np.diag_indices(grid[0]), np.triu_indices(grid[0], 1))
        elif self.sums == 'rows':
            visits = (np.divmod(np.arange(math.prod(grid)), grid[1]), None)
        else:
            visits = (None, np.divmod(np.arange(math.prod(grid)), grid[1]))
        return (row_block, column_block), visits


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _blocked(plan, rows, columns, offset):
    """Log-sum-exp and largest logit of each row, then of each column if both are summed.

    `offset` is the number of the first row.
    """
    return _forward(plan, rows, columns, offset)[0]


def _forward(plan, rows, columns, offset):
    (row_block, column_block), visits = plan.blocks(rows.shape[0], columns.shape[0])
    row_blocks, column_blocks = in_blocks(rows, row_block), in_blocks(columns, column_block)

    def fold(side, position, logits, axis):
        largest, total = side[0][position], side[1][position]
        new = jnp.maximum(largest, jnp.max(logits, axis))
        exponentials = jnp.exp(logits - jnp.expand_dims(new, axis))
        total = total * jnp.exp(largest - new) + jnp.sum(exponentials, axis)
        return side[0].at[position].set(new), side[1].at[position].set(total)

    def visit(two_sided, i, j, sides):
        logits = plan.similarity(row_blocks[i], column_blocks[j])
        logits = _mask(plan, logits, offset + i * row_block, j * column_block, two_sided)
        sides = (fold(sides[0], i, logits, 1), *sides[1:])
        if two_sided:  # In the symmetric case the first side is also the last.
            sides = (*sides[:-1], fold(sides[-1], j, logits, 0))
        return sides

    blocked = (row_blocks, column_blocks) if plan.sums == 'both' else (row_blocks,)
    shapes = [array.shape[:2] for array in blocked]
    sides = tuple(
        (jnp.full(shape, LOWEST, jnp.float32), jnp.zeros(shape, jnp.float32)) for shape in shapes
    )
    sides = _visit_all(visits, visit, sides)
    outputs = []
    for (largest, total), count in zip(sides, (rows.shape[0], columns.shape[0]), strict=False):
        out = largest + jnp.log(total)
        outputs.append((out.reshape(-1)[:count], largest.reshape(-1)[:count]))
    return tuple(outputs), (rows, columns, offset, [out for out, _ in outputs])


def _backward(plan, residuals, cotangents):
    rows, columns, offset, outs = residuals
    sizes, visits = plan.blocks(rows.shape[0], columns.shape[0])
    row_blocks, column_blocks = in_blocks(rows, sizes[0]), in_blocks(columns, sizes[1])
    outs = [in_blocks(out, size) for out, size in zip(outs, sizes, strict=False)]
    incoming = [in_blocks(side[0], size) for side, size in zip(cotangents, sizes, strict=False)]

    def visit(two_sided, i, j, gradients):
        logits, pull_back = jax.vjp(plan.similarity, row_blocks[i], column_blocks[j])
        logits = _mask(plan, logits, offset + i * sizes[0], j * sizes[1], two_sided)
        weights = incoming[0][i][:, None] * jnp.exp(logits - outs[0][i][:, None])
        if two_sided:
            weights += incoming[-1][j][None, :] * jnp.exp(logits - outs[-1][j][None, :])
        of_rows, of_columns = pull_back(weights)
        gradients = (gradients[0].at[i].add(of_rows), *gradients[1:])
        return (*gradients[:-1], gradients[-1].at[j].add(of_columns))

    blocked = (row_blocks,) if plan.sums == 'symmetric' else (row_blocks, column_blocks)
    gradients = _visit_all(visits, visit, jax.tree.map(jnp.zeros_like, blocked))
    gradients = [
        gradient.reshape(-1, rows.shape[1])[:count]
        for gradient, count in zip(gradients, (rows.shape[0], columns.shape[0]), strict=False)
    ]
    # In the symmetric case the rows have received what is the columns' too.
    of_columns = jnp.zeros_like(columns) if plan.sums == 'symmetric' else gradients[1]
    return gradients[0], of_columns, None


_blocked.defvjp(_forward, _backward)


def _visit_all(visits, visit, state):
    """`state` after every block: those for their rows only, then those for both sides."""
    for two_sided, pairs in zip((False, True), visits, strict=True):
        if pairs is not None and len(pairs[0]):
            i, j = (jnp.asarray(positions, jnp.int32) for positions in pairs)

            def body(k, state, two_sided=two_sided, i=i, j=j):
                return visit(two_sided, i[k], j[k], state)

            state = lax.fori_loop(0, len(pairs[0]), body, state)
    return state


def _mask(plan, logits, first_row, first_column, two_sided):
    """-inf for padding and for columns of the row's own group."""
    row = first_row + lax.broadcasted_iota(jnp.int32, logits.shape, 0)
    column = first_column + lax.broadcasted_iota(jnp.int32, logits.shape, 1)
    keep = column < plan.columns
    if plan.sums == 'both':
        keep &= row < plan.rows
    if plan.group and not (plan.sums == 'symmetric' and two_sided):
        keep &= row // plan.group != column // plan.group
    return jnp.where(keep, logits, -jnp.inf)
