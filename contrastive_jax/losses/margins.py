"""In-batch losses that weigh their negatives otherwise than by a softmax over all of them."""

import jax
import jax.numpy as jnp

from contrastive_jax.losses import selection, similarities, whole_rows
from contrastive_jax.losses.any_mesh import any_mesh


@any_mesh
def in_batch_simple(z1, z2, *, weight=None):
    """The simple contrastive loss: linear in the similarities, so blind to hardness.

      L = 1/(2n) sum_i [ -u_i.u_p(i) + lambda sum_{k not in {i, p(i)}} u_i.u_k ]

    with u the 2n unit rows of both views and p(i) the other view of row i. All negatives get the
    same gradient, which is that of tau NT-Xent for a large temperature, up to a factor.

    Args:
      z1: projections of the first views [n, d], n >= 2, any floating type.
      z2: projections of the second views [n, d]; row i is of the same example as row i of `z1`.
      weight: lambda, or None for 1 / (2n - 2), which makes the second term a mean.

    Returns:
      The mean over the 2n anchors, float32, in units of the cosine, and its parts: `alignment`
      (minus the mean cosine of the pairs) and `negatives` (the second term with its weight), which
      add up to it.

    Raises:
      ValueError: shapes that do not fit or fewer than 2 pairs.

    Source: Wang 2021, Eq. 3; the default weight follows from its Eq. 7.
    """
    similarities.check_pairs('in_batch_simple', z1, z2)
    pairs = z1.shape[0]
    first, second = similarities.unit_rows(z1), similarities.unit_rows(z2)
    alignment = -jnp.mean(jnp.sum(first * second, axis=1))
    # Sum over k, i in different pairs = |sum of all|^2 - sum over pairs |sum of the pair|^2.
    pair_sums = first + second
    everything = jnp.sum(jnp.square(jnp.sum(pair_sums, axis=0)))
    between_pairs = everything - jnp.sum(jnp.square(pair_sums))
    weight = 1 / (2 * pairs - 2) if weight is None else weight
    negatives = weight * between_pairs / (2 * pairs)
    return alignment + negatives, {'alignment': alignment, 'negatives': negatives}


@any_mesh
def in_batch_hard(z1, z2, *, temperature, num_hard):
    """NT-Xent against the hardest negatives of each anchor only.

      L = 1/(2n) sum_i [ -u_i.u_p(i) / tau + log sum_{k in H_i or k = p(i)} exp(u_i.u_k / tau) ]

    with u the 2n unit rows of both views, p(i) the other view of row i and H_i the `num_hard`
    negatives (neither i nor p(i)) that are most similar to i. At 2n - 2 it is NT-Xent.

    Args:
      z1: projections of the first views [n, d], n >= 2, any floating type.
      z2: projections of the second views [n, d]; row i is of the same example as row i of `z1`.
      temperature: tau > 0, a scalar or [d], as in `nt_xent`.
      num_hard: size of H_i, in [1, 2n - 2]; of equally similar negatives the first are taken.

    Returns:
      The mean over the 2n anchors in nats, float32, and its parts: `alignment` (minus the mean
      positive logit) and `log_sum_exp` (the rest), which add up to it.

    Raises:
      ValueError: `num_hard` outside [1, 2n - 2], shapes that do not fit, fewer than 2 pairs, a
        temperature as in `nt_xent`.

    Source: Wang 2021, Eq. 9, with the batch in place of the bank.
    """
    similarities.check_pairs('in_batch_hard', z1, z2)
    most = 2 * z1.shape[0] - 2
    if not 1 <= num_hard <= most:
        raise ValueError(f'num_hard must be in [1, {most}] at {z1.shape[0]} pairs, got {num_hard}.')
    first, second = (
        similarities.scale_by_temperature(similarities.unit_rows(rows), temperature)
        for rows in (z1, z2)
    )

    def terms(logits, positive):
        hardest = jnp.where(selection.largest(logits, num_hard), logits, -jnp.inf)
        return jax.nn.softplus(jax.nn.logsumexp(hardest, axis=1) - positive), ()

    positive = _positives(first, second)
    rows = similarities.interleaved(first, second)
    total, _ = whole_rows.sum_over_rows(terms, rows, positive, exclude_groups_of=2)
    loss = total / rows.shape[0]
    alignment = -jnp.mean(positive)
    return loss, {'alignment': alignment, 'log_sum_exp': loss - alignment}


@any_mesh
def hardest_negative_triplet(z1, z2):
    """The limit of tau NT-Xent for tau to 0: a triplet loss without margin. A negative control.

      L = 1/(2n) sum_i max(0, max_{k not in {i, p(i)}} u_i.u_k - u_i.u_p(i))

    with u the 2n unit rows of both views and p(i) the other view of row i. Only the single
    hardest negative of an anchor gets a gradient; the paper finds that it does not learn.

    Args:
      z1: projections of the first views [n, d], n >= 2, any floating type.
      z2: projections of the second views [n, d]; row i is of the same example as row i of `z1`.

    Returns:
      The mean over the 2n anchors, float32, in units of the cosine, at least 0, and its parts:
      `alignment` (minus the mean cosine of the pairs), `hardest_negative` (the mean cosine of the
      hardest negatives) and `active` (the share of anchors with a positive loss, in [0, 1]).

    Raises:
      ValueError: shapes that do not fit or fewer than 2 pairs.

    Source: Wang 2021, Eq. 6.
    """
    similarities.check_pairs('hardest_negative_triplet', z1, z2)
    first, second = similarities.unit_rows(z1), similarities.unit_rows(z2)

    def terms(cosines, positive):
        # The mask gives one of equal negatives the gradient; a maximum would share it out.
        hardest = jnp.sum(jnp.where(selection.largest(cosines, 1), cosines, 0.0), axis=1)
        excess = jax.nn.relu(hardest - positive)
        return excess, (hardest, excess > 0)

    positive = _positives(first, second)
    rows = similarities.interleaved(first, second)
    total, (hardest, active) = whole_rows.sum_over_rows(terms, rows, positive, exclude_groups_of=2)
    parts = {
        'alignment': -jnp.mean(positive),
        'hardest_negative': jnp.mean(hardest),
        'active': jnp.mean(active.astype(jnp.float32)),
    }
    return total / rows.shape[0], parts


def _positives(first, second):
    """The product of each of the 2n interleaved rows with the other view of its example."""
    return jnp.repeat(jnp.sum(first * second, axis=1), 2)
