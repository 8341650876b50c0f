"""Losses as one would write them with jnp: whole matrices, no blocks, automatic gradients."""

import jax
import jax.numpy as jnp

from contrastive_jax.losses import similarities

TEMPERATURE = 0.1


def products(rows, columns):
    """All inner products, at the library's precision."""
    return jnp.matmul(rows, columns.T, precision=similarities.PRECISION)


def nt_xent(z1, z2):
    """The whole matrix of both views."""
    rows = jnp.concatenate([z1, z2])
    rows = rows / jnp.linalg.norm(rows, axis=1, keepdims=True)
    logits = products(rows, rows) / TEMPERATURE
    logits = jnp.where(jnp.eye(len(rows), dtype=bool), -jnp.inf, logits)
    pairs = len(z1)
    positive = jnp.concatenate([jnp.diagonal(logits, pairs), jnp.diagonal(logits, -pairs)])
    return jnp.mean(jax.nn.logsumexp(logits, axis=1) - positive)


def box_info_nce(anchors, positives):
    """The whole [n, n, d] array of differences."""
    differences = jnp.sum(jnp.square(anchors[:, None] - anchors[None]), axis=-1)
    align = jnp.sum(jnp.square(anchors - positives), axis=-1)
    logits = jnp.where(jnp.eye(len(anchors), dtype=bool), -align[:, None], -differences)
    return jnp.mean(align + jax.nn.logsumexp(logits, axis=1))


def sliced_wasserstein(samples, prior_samples, projections):
    """Two sorts of columns."""
    values, prior_values = (
        jnp.sort(products(rows, projections.T), axis=0) for rows in (samples, prior_samples)
    )
    return jnp.mean(jnp.square(values - prior_values))


def contrastive(anchors, bank, index):
    """A softmax over the bank."""
    logits = products(anchors, bank) / TEMPERATURE
    return jnp.mean(jax.nn.logsumexp(logits, axis=1) - _at(logits, index[:, None])[:, 0])


def hard_contrastive(anchors, bank, index, num_hard):
    """The own logit taken out of the matrix, then the largest of the others."""
    logits = products(anchors, bank) / TEMPERATURE
    positive = _at(logits, index[:, None])
    negatives = logits.at[jnp.arange(len(logits)), index].set(-jnp.inf)
    hardest = jax.lax.top_k(negatives, num_hard)[0]
    candidates = jnp.concatenate([positive, hardest], axis=1)
    return jnp.mean(jax.nn.logsumexp(candidates, axis=1) - positive[:, 0])


def ball(anchors, bank, index, background):
    """The own logit, and those of the background."""
    logits = products(anchors, bank) / TEMPERATURE
    positive = _at(logits, index[:, None])
    others = jnp.where(background == index[:, None], -jnp.inf, _at(logits, background))
    candidates = jnp.concatenate([positive, others], axis=1)
    return jnp.mean(jax.nn.logsumexp(candidates, axis=1) - positive[:, 0])


def local_aggregation(anchors, bank, index, background, close):
    """As `ball`, the numerator over a mask of the close rows of the bank."""
    logits = products(anchors, bank) / TEMPERATURE
    rows = jnp.arange(len(logits))
    close = jnp.where(close < 0, len(bank), close)  # an empty place must not count from the end
    mask = jnp.zeros(logits.shape, bool).at[rows[:, None], close].set(True, mode='drop')
    mask = mask.at[rows, index].set(True)
    candidates = jnp.concatenate([index[:, None], background], axis=1)
    later = jnp.arange(candidates.shape[1])[None] > 0
    kept = _at(logits, candidates)
    kept = jnp.where(later & (candidates == index[:, None]), -jnp.inf, kept)
    near = jnp.where(_at(mask, candidates), kept, -jnp.inf)
    return jnp.mean(jax.nn.logsumexp(kept, axis=1) - jax.nn.logsumexp(near, axis=1))


def _at(matrix, columns):
    return jnp.take_along_axis(matrix, columns, axis=1)
