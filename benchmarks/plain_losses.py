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


def in_batch_hard(z1, z2, num_hard):
    """The whole matrix of both views, and the largest entries of its rows."""
    rows = jnp.concatenate([z1, z2])
    rows = rows / jnp.linalg.norm(rows, axis=1, keepdims=True)
    logits = products(rows, rows) / TEMPERATURE
    pairs = len(z1)
    example = jnp.arange(len(rows)) % pairs
    positive = jnp.concatenate([jnp.diagonal(logits, pairs), jnp.diagonal(logits, -pairs)])
    negatives = jnp.where(example[:, None] == example[None], -jnp.inf, logits)
    hardest = jax.lax.top_k(negatives, num_hard)[0]
    candidates = jnp.concatenate([positive[:, None], hardest], axis=1)
    return jnp.mean(jax.nn.logsumexp(candidates, axis=1) - positive)


def supcon(z, labels):
    """The whole matrix, and the mask of equal labels."""
    rows = z / jnp.linalg.norm(z, axis=1, keepdims=True)
    itself = jnp.eye(len(rows), dtype=bool)
    logits = products(rows, rows) / TEMPERATURE
    positives = (labels[:, None] == labels[None]) & ~itself
    positive = jnp.sum(jnp.where(positives, logits, 0.0), axis=1) / jnp.sum(positives, axis=1)
    others = jnp.where(itself, -jnp.inf, logits)
    return jnp.mean(jax.nn.logsumexp(others, axis=1) - positive)


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


def simple_contrastive(anchors, bank, index):
    """The mean of all logits but the own one."""
    logits = products(anchors, bank)
    positive = _at(logits, index[:, None])[:, 0]
    return jnp.mean((jnp.sum(logits, axis=1) - positive) / (len(bank) - 1) - positive)


def hard_simple_contrastive(anchors, bank, index, num_hard):
    """As `hard_contrastive`, with the mean of the largest."""
    logits = products(anchors, bank)
    negatives = logits.at[jnp.arange(len(logits)), index].set(-jnp.inf)
    hardest = jax.lax.top_k(negatives, num_hard)[0]
    return jnp.mean(jnp.mean(hardest, axis=1) - _at(logits, index[:, None])[:, 0])


def noise_contrastive(anchors, bank, index, noise, kappa):
    """Binary cross entropy of the own row and of the noise rows."""
    logits = products(anchors, bank) / TEMPERATURE
    offset = jnp.log(kappa * noise.shape[1])
    own = jax.nn.softplus(offset - _at(logits, index[:, None])[:, 0])
    return jnp.mean(own + jnp.sum(jax.nn.softplus(_at(logits, noise) - offset), axis=1))


def multiview_coding(anchors, bank, index, other_anchors, other_bank):
    """`contrastive` in both directions."""
    return contrastive(anchors, other_bank, index) + contrastive(other_anchors, bank, index)


def ball(anchors, bank, index, background):
    """The own logit, and those of the background."""
    logits = products(anchors, bank) / TEMPERATURE
    positive = _at(logits, index[:, None])
    others = jnp.where(background == index[:, None], -jnp.inf, _at(logits, background))
    candidates = jnp.concatenate([positive, others], axis=1)
    return jnp.mean(jax.nn.logsumexp(candidates, axis=1) - positive[:, 0])


def annulus(anchors, bank, index, background, close):
    """As `ball`, without the background's rows that a mask of the close ones holds."""
    logits = products(anchors, bank) / TEMPERATURE
    positive = _at(logits, index[:, None])
    mask = _marked(logits, close)
    left_out = _at(mask, background) | (background == index[:, None])
    others = jnp.where(left_out, -jnp.inf, _at(logits, background))
    candidates = jnp.concatenate([positive, others], axis=1)
    return jnp.mean(jax.nn.logsumexp(candidates, axis=1) - positive[:, 0])


def local_aggregation(anchors, bank, index, background, close):
    """As `ball`, the numerator over a mask of the close rows of the bank."""
    logits = products(anchors, bank) / TEMPERATURE
    mask = _marked(logits, jnp.concatenate([close, index[:, None]], axis=1))
    candidates = jnp.concatenate([index[:, None], background], axis=1)
    later = jnp.arange(candidates.shape[1])[None] > 0
    kept = _at(logits, candidates)
    kept = jnp.where(later & (candidates == index[:, None]), -jnp.inf, kept)
    near = jnp.where(_at(mask, candidates), kept, -jnp.inf)
    return jnp.mean(jax.nn.logsumexp(kept, axis=1) - jax.nn.logsumexp(near, axis=1))


def _marked(logits, ids):
    """A mask of the logits' shape with the ids of every row set."""
    ids = jnp.where(ids < 0, logits.shape[1], ids)  # an empty place must not count from the end
    rows = jnp.arange(len(logits))[:, None]
    return jnp.zeros(logits.shape, bool).at[rows, ids].set(True, mode='drop')


def _at(matrix, columns):
    return jnp.take_along_axis(matrix, columns, axis=1)
