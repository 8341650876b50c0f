"""Which rows of a bank lie near an anchor: the nearest, or draws from a ring around it."""

import jax
import jax.numpy as jnp

from contrastive_jax.losses import selection
from contrastive_jax.losses.bank_terms import by_rows
from contrastive_jax.losses.blocks import in_blocks
from contrastive_jax.losses.similarities import inner_products

# Rows of a bank's size that are ranked at a time.
RANKED_ROWS = 8


def nearest(anchors, bank, *, count, approximate=False):
    """The ids of the rows of the bank with the largest inner products, largest first.

    For unit rows these are the nearest rows in Euclidean distance.

    Args:
      anchors: [b, d].
      bank: [N, d].
      count: k, in 1..N.
      approximate: True takes the approximate search that TPUs do in hardware, with an expected
        recall of 95 %; on other backends it is exact.

    Returns:
      ids [b, k], int32; of equal products the lower id comes first (exact search).

    Raises:
      ValueError: a count outside 1..N.

    Source: the background sets of Wu 2020, Sec. 2 (LA): the 4,096 nearest.
    """
    if not 1 <= count <= bank.shape[0]:
        raise ValueError(f'count must be in 1..{bank.shape[0]}, the rows of the bank, got {count}.')
    products = jax.lax.stop_gradient(inner_products(anchors, bank))
    search = jax.lax.approx_max_k if approximate else jax.lax.top_k
    return by_rows(lambda rows: search(rows, count)[1], products)


def ring(anchors, bank, *, outer, num_draws, key, inner=0.0):
    """Draws, with replacement, from the rows of a ring around every anchor.

    The rows are ranked by inner product, largest first, of equal ones the lower id. The ball is
    the first `outer` N of them; the ring is the ball without its first `inner` outer N.
    `annealed_fraction` gives the outer fraction of a step.

    Args:
      anchors: [b, d].
      bank: [N, d].
      outer: fraction of the bank in the ball, in (0, 1]; may be traced.
      num_draws: k >= 1, the draws for every anchor.
      key: a random key.
      inner: fraction of the ball that is skipped, in [0, 1); may be traced. 0.1 is usual for
        ANN+, 0 for BALL+.

    Returns:
      ids [b, k], int32, a background for `losses.ball`. A ring always has at least one row.

    Source: Wu 2020, Sec. 5 (BALL+, ANN+).
    """
    size = bank.shape[0]
    end = jnp.clip(jnp.ceil(jnp.asarray(outer, jnp.float32) * size), 1, size).astype(jnp.int32)
    start = jnp.floor(jnp.asarray(inner, jnp.float32) * end.astype(jnp.float32)).astype(jnp.int32)
    start = jnp.clip(start, 0, end - 1)
    draws = jax.random.randint(key, (anchors.shape[0], num_draws), 0, end - start)
    bank = jax.lax.stop_gradient(bank)

    def in_block(block):
        anchors, draws, ends, starts = block
        products = inner_products(anchors, bank)
        members = selection.largest(products, ends) & ~selection.largest(products, starts)
        # The draws are even, so the ring needs no order: draw r is its r-th member by id.
        places = jnp.cumsum(members.astype(jnp.int32), axis=1)
        return jax.vmap(jnp.searchsorted)(places, draws + 1).astype(jnp.int32)

    def of_rows(*arrays):
        blocks = [in_blocks(array, RANKED_ROWS) for array in arrays]
        return jax.lax.map(in_block, blocks).reshape(-1, num_draws)[: arrays[0].shape[0]]

    # The ends stand in every row, so that they are split over devices as the rows are.
    column = jnp.ones((anchors.shape[0], 1), jnp.int32)
    return by_rows(of_rows, jax.lax.stop_gradient(anchors), draws, end * column, start * column)


def annealed_fraction(step, *, num_steps, end, start=1.0):
    """The outer fraction of a step: linear from start to end over num_steps, then constant.

    Args:
      step: the step, a number or traced.
      num_steps: length of the descent >= 1; half of training is usual.
      end: the last fraction, 4096 / N in the experiments of the paper.
      start: the first fraction; 1 is the whole bank.

    Returns:
      A float32 scalar.

    Source: Wu 2020, Sec. 5: "anneal"; the schedule is not stated there, linear is our choice.
    """
    if num_steps < 1:
        raise ValueError(f'num_steps must be at least 1, got {num_steps}.')
    progress = jnp.clip(jnp.asarray(step, jnp.float32) / num_steps, 0.0, 1.0)
    return start + (end - start) * progress
