"""Losses of the InfoNCE family: a softmax over candidates, of which one is the positive."""

import jax.numpy as jnp
from jax.scipy.special import logsumexp

from contrastive_jax.losses import similarities


def nt_xent(z1, z2, *, temperature):
    """Normalised temperature-scaled cross entropy (NT-Xent), the loss of SimCLR.

    With u the 2n unit rows of both views and p(i) the other view of row i,

      L = 1/(2n) sum_i [ -u_i.u_p(i) / tau + log sum_{k != i} exp(u_i.u_k / tau) ].

    Args:
      z1: projections of the first views [n, d], n >= 2, any floating type.
      z2: projections of the second views [n, d]; row i is of the same example as row i of `z1`.
      temperature: tau > 0.

    Returns:
      The mean over the 2n anchors in nats, float32, and its parts: `alignment` (minus the mean
      positive logit) and `log_sum_exp`, which add up to it, and `accuracy`, the share of anchors
      whose nearest of the 2n-1 candidates is the positive, in [0, 1].

    Source: Chen et al. 2020 (SimCLR), Eq. 1; Chen 2021, Eq. 1. The official code prints twice
    this value, the sum of its two directions.
    """
    if z1.ndim != 2 or z1.shape != z2.shape:
        raise ValueError(f'z1 and z2 must be [n, d] of one shape, got {z1.shape} and {z2.shape}.')
    pairs = z1.shape[0]
    if pairs < 2:
        raise ValueError(f'nt_xent needs at least 2 pairs for negatives, got {pairs}.')
    if isinstance(temperature, int | float) and temperature <= 0:
        raise ValueError(f'temperature must be positive, got {temperature}.')
    rows = similarities.unit_rows(jnp.concatenate([z1, z2]))
    logits = similarities.inner_products(rows, rows) / temperature
    positive = jnp.concatenate([jnp.diagonal(logits, pairs), jnp.diagonal(logits, -pairs)])
    others = jnp.where(jnp.eye(2 * pairs, dtype=bool), -jnp.inf, logits)
    alignment = -jnp.mean(positive)
    log_sum_exp = jnp.mean(logsumexp(others, axis=1))
    accuracy = jnp.mean((positive >= jnp.max(others, axis=1)).astype(jnp.float32))
    parts = {'alignment': alignment, 'log_sum_exp': log_sum_exp, 'accuracy': accuracy}
    return alignment + log_sum_exp, parts
