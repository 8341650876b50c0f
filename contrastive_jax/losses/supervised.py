"""Losses that know the labels: cross entropy, its multi-label form, supervised contrastive."""

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp

from contrastive_jax.losses import similarities, streaming
from contrastive_jax.losses.any_mesh import any_mesh


@any_mesh
def cross_entropy(logits, labels):
    """Softmax cross entropy.

      L = 1/n sum_i [ log sum_c exp(logits_ic) - logits_i,labels_i ]

    Args:
      logits: [n, c], any floating type.
      labels: [n] integers in [0, c). Rows with any other label are left out of the mean.

    Returns:
      The mean over the labelled rows in nats, float32 (0 without any), and its parts: `accuracy`
      in [0, 1].

    Raises:
      ValueError: shapes that do not fit, or labels that are not integers.

    Source: the supervised baseline of Chen 2021 and Lee 2023.
    """
    if logits.ndim != 2 or 0 in logits.shape:
        raise ValueError(f'logits must be [n, c] with no empty axis, got {logits.shape}.')
    _check_labels(logits, labels)
    logits, labels = logits.astype(jnp.float32), labels.astype(jnp.int32)
    known = (labels >= 0) & (labels < logits.shape[1])
    position = jnp.where(known, labels, 0)[:, None]
    chosen = jnp.take_along_axis(logits, position, axis=1)[:, 0]
    loss = _mean_where(known, logsumexp(logits, axis=1) - chosen)
    correct = jnp.argmax(logits, axis=1).astype(jnp.int32) == position[:, 0]
    return loss, {'accuracy': _mean_where(known, correct.astype(jnp.float32))}


@any_mesh
def multi_label(logits, labels):
    """Binary cross entropy of every class, for examples with any number of classes.

      L = 1/(nc) sum_ic [ log(1 + exp(logits_ic)) - labels_ic logits_ic ]

    Args:
      logits: [n, c], any floating type.
      labels: [n, c], 1 where the class is present and 0 where it is not.

    Returns:
      The mean over rows and classes in nats, float32, and its parts: `accuracy`, the share of
      classes on the right side of zero, in [0, 1].

    Raises:
      ValueError: shapes that differ.

    Source: the supervised twin on MultiDigits, Chen 2021, Section 3.
    """
    if logits.ndim != 2 or logits.shape != labels.shape or 0 in logits.shape:
        raise ValueError(
            f'logits and labels must be [n, c] of one shape, got {logits.shape} and {labels.shape}.'
        )
    logits, present = logits.astype(jnp.float32), labels.astype(jnp.float32)
    loss = jnp.mean(jax.nn.softplus(logits) - present * logits)
    return loss, {'accuracy': jnp.mean(((logits > 0) == (present > 0.5)).astype(jnp.float32))}


@any_mesh
def supcon(z, labels, *, temperature):
    """Supervised contrastive loss: every other row of the same label is a positive.

    With u the unit rows, P(i) the other rows of the label of row i, and A the rows with |P(i)| > 0,

      L = 1/|A| sum_{i in A} [ -1/|P(i)| sum_{p in P(i)} u_i.u_p / tau
                               + log sum_{k != i} exp(u_i.u_k / tau) ].

    There is no factor tau / tau_base as in some public code. With one label for each pair of
    views it is NT-Xent. An anchor's term is at least log |P(i)|, its value where all positives are
    alike and the negatives far: rounding, of about 1e-7 / tau in a logit, never takes it lower. An
    anchor with one positive keeps its digits however small its term.

    Args:
      z: projections [n, d], n >= 2, any floating type; two views are two rows of one label.
      labels: [n] integers.
      temperature: tau > 0, a scalar or one per dimension [d].

    Returns:
      The mean over the anchors with a positive in nats, float32 (0 where no row has one), and its
      parts `alignment` (minus the mean positive logit) and `log_sum_exp` (the rest), which add up
      to it.

    Raises:
      ValueError: shapes that do not fit, labels that are not integers, a temperature not positive.

    Source: Khosla et al. 2020, Eq. 2 (sum outside the logarithm); Lee 2023, L_SupCon.
    """
    if z.ndim != 2 or z.shape[0] < 2:
        raise ValueError(f'z must be [n, d] with n >= 2, got {z.shape}.')
    _check_labels(z, labels)
    rows = similarities.scale_by_temperature(similarities.unit_rows(z), temperature)
    # The mean over an anchor's positives needs only the sum of its class: no n x n mask.
    number = z.shape[0]
    class_of = jnp.unique(labels, size=number, return_inverse=True)[1].reshape(number)
    sums = jax.ops.segment_sum(rows, class_of, num_segments=number)
    sizes = jax.ops.segment_sum(jnp.ones(number, jnp.float32), class_of, num_segments=number)
    positives = sizes[class_of] - 1
    mean_positive = (sums[class_of] - rows) / jnp.maximum(positives, 1)[:, None]
    positive = jnp.sum(rows * mean_positive, axis=1)
    # Only with a single positive can a term be near zero. There the sum has the negatives alone.
    pair = jnp.where(positives == 1, class_of, number + jnp.arange(number)).astype(jnp.float32)
    against = streaming.log_sum_exp(
        jnp.concatenate([rows, pair[:, None]], axis=1),
        exclude_groups_of=1,
        similarity=_products_outside_pairs,
    )
    difference = against - positive
    # The value alone is raised to its bound: the gradient of what is above is right as it is.
    short = jnp.maximum(jnp.log(jnp.maximum(positives, 1)) - difference, 0)
    several = difference + jax.lax.stop_gradient(short)
    terms = jnp.where(positives == 1, jax.nn.softplus(difference), several)
    loss = _mean_where(positives > 0, terms)
    alignment = -_mean_where(positives > 0, positive)
    return loss, {'alignment': alignment, 'log_sum_exp': loss - alignment}


def _products_outside_pairs(rows, columns):
    """Inner products of rows whose last entry names their pair, the lowest float32 inside one."""
    products = similarities.inner_products(rows[:, :-1], columns[:, :-1])
    inside = rows[:, -1][:, None] == columns[:, -1][None, :]
    return jnp.where(inside, streaming.LOWEST, products)


def _check_labels(rows, labels):
    if labels.shape != rows.shape[:1] or not jnp.issubdtype(labels.dtype, jnp.integer):
        raise ValueError(
            f'labels must be {rows.shape[0]} integers, one a row, '
            f'got {labels.dtype} of shape {labels.shape}.'
        )


def _mean_where(keep, values):
    """Mean of the kept values, 0 without any."""
    return jnp.sum(jnp.where(keep, values, 0)) / jnp.maximum(jnp.sum(keep.astype(jnp.float32)), 1)
