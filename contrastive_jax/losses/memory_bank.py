"""Objectives over a whole memory bank: one row per example, the anchor's own row its positive.

Anchors and bank rows are unit rows: nothing is normalised here, and with rows near the end of
float32 a loss is not finite. The own row `bank[index]` is always among the candidates and never
twice. An anchor whose index lies outside 0..N-1 is left out of the mean, which is 0 if all are;
the part `left_out` is the share of such anchors. Gradients reach whatever is differentiated; a
bank held as state gets none.
"""

import jax
import jax.numpy as jnp

from contrastive_jax.losses import bank_terms, similarities, streaming
from contrastive_jax.losses.any_mesh import any_mesh


@any_mesh
def contrastive(anchors, bank, index, *, temperature):
    """Contrastive loss of an anchor against every row of the bank.

    With s_ij = anchors_i . bank_j and i's own row bank_i,

      L_i = -s_ii / tau + log sum_{j=1..N} exp(s_ij / tau).

    Args:
      anchors: unit rows [b, d], any floating type.
      bank: unit rows [N, d], N >= 2.
      index: the anchors' own rows [b], integers in 0..N-1.
      temperature: tau > 0, scalar or [d]; values of a JAX array below 1e-6 count as 1e-6.

    Returns:
      The mean over anchors in nats, float32, and its parts: `alignment` (minus the mean positive
      logit) and `log_sum_exp`, which add up to it, and `left_out`, the share of anchors whose
      index lies outside the bank: they do not count, and without any other the loss is 0.

    Raises:
      ValueError: shapes that do not match, or a temperature that is not positive.

    Source: Wang 2021, Eq. 1.
    """
    bank_terms.check(anchors, bank, index)
    positive, logits = bank_terms.logits(anchors, bank, index, temperature)
    against = bank_terms.log_sum_exp(logits, bank_terms.others(index, bank))
    losses = jax.nn.softplus(against - positive)
    return bank_terms.softmax_parts(positive, losses, bank_terms.inside(index, bank))


@any_mesh
def instance_discrimination(anchors, bank, index, *, temperature):
    """Instance discrimination (IR): minus the log probability of the anchor's own row.

      L_i = -log [ exp(s_ii / tau) / sum_{j=1..N} exp(s_ij / tau) ],

    the same function as `contrastive`; log N minus it is the InfoNCE estimate of the mutual
    information, at most log N.

    Args:
      anchors: unit rows [b, d], any floating type.
      bank: unit rows [N, d], N >= 2.
      index: the anchors' own rows [b], integers in 0..N-1.
      temperature: tau > 0, scalar or [d]; values of a JAX array below 1e-6 count as 1e-6.

    Returns:
      The mean over anchors in nats, float32, and its parts: those of `contrastive`, and
      `mutual_information`, log N minus the loss, in nats.

    Raises:
      ValueError: shapes that do not match, or a temperature that is not positive.

    Source: Wu 2020, Sec. 2 (IR); the log-softmax form of Wu et al. 2018.
    """
    loss, parts = contrastive(anchors, bank, index, temperature=temperature)
    log_size = jnp.log(jnp.float32(bank.shape[0]))
    return loss, {**parts, 'mutual_information': log_size - loss}


@any_mesh
def instance_discrimination_views(z1, z2, *, temperature):
    """Instance discrimination without a bank: the other view of every example is the bank.

    With u and v the unit rows of the two views,

      L_i = -u_i.v_i / tau + log sum_{j=1..n} exp(u_i.v_j / tau),

    one direction of `cross_view_info_nce`. log n minus it is the InfoNCE estimate of the mutual
    information of the views.

    Args:
      z1: projections of the first views [n, d], n >= 2, any floating type: the anchors.
      z2: projections of the second views [n, d]; row i is of the same example as row i of `z1`.
      temperature: tau > 0, scalar or [d]; values of a JAX array below 1e-6 count as 1e-6.

    Returns:
      The mean over the n anchors in nats, float32, and its parts: `alignment` (minus the mean
      positive logit) and `log_sum_exp`, which add up to it, and `mutual_information`, log n minus
      the loss, in nats.

    Raises:
      ValueError: shapes that do not match, fewer than two pairs, or a temperature that is not
        positive.

    Source: Wu 2020, Eq. 9. As printed its denominator takes an independent view of the anchor's
    image, so that the numerator may be missing from it; here it takes the positive itself.
    """
    similarities.check_pairs('instance_discrimination_views', z1, z2)
    anchors = similarities.scale_by_temperature(similarities.unit_rows(z1), temperature, power=1)
    positives = similarities.unit_rows(z2)
    positive = jnp.sum(anchors * positives, axis=1)
    against = streaming.log_sum_exp(anchors, positives, exclude_groups_of=1)
    loss, alignment = jnp.mean(jax.nn.softplus(against - positive)), -jnp.mean(positive)
    return loss, {
        'alignment': alignment,
        'log_sum_exp': loss - alignment,
        'mutual_information': jnp.log(jnp.float32(z1.shape[0])) - loss,
    }


@any_mesh
def simple_contrastive(anchors, bank, index, *, weight=None):
    """Simple contrastive loss: no softmax, every negative counts alike.

      L_i = -s_ii + lambda sum_{j != i} s_ij.

    Its gradient is the limit of that of tau L N / (N-1), L the contrastive loss, for tau to
    infinity.

    Args:
      anchors: unit rows [b, d], any floating type.
      bank: unit rows [N, d], N >= 2.
      index: the anchors' own rows [b], integers in 0..N-1.
      weight: lambda; None takes 1 / (N-1), the mean over the negatives.

    Returns:
      The mean over anchors in units of cosine similarity, float32, and its parts: `positive` (the
      mean positive similarity) and `negative` (the weighted sum of the negative ones), whose
      difference `negative - positive` it is, and `left_out`, the share of anchors whose index
      lies outside the bank: they do not count, and without any other the loss is 0.

    Raises:
      ValueError: shapes that do not match.

    Source: Wang 2021, Eq. 3; the weight, which has no value there, from Eq. 7.
    """
    bank_terms.check(anchors, bank, index)
    negatives = bank.shape[0] - 1
    weight = 1.0 / negatives if weight is None else weight
    positive = bank_terms.positive_similarities(anchors, bank, index)
    # A sum of inner products is one inner product with the sum: no [b, N] matrix.
    total = jnp.sum(bank.astype(jnp.float32), axis=0, keepdims=True)
    negative = similarities.inner_products(anchors, total)[:, 0] - positive
    return _simple_parts(positive, weight * negative, bank_terms.inside(index, bank))


@any_mesh
def hard_contrastive(anchors, bank, index, *, temperature, num_hard):
    """Contrastive loss against the positive and the hardest negatives only.

      L_i = -s_ii / tau + log [exp(s_ii / tau) + sum_{j in H_i} exp(s_ij / tau)],

    H_i the `num_hard` rows other than i of largest s_ij; of equal ones the lower ids, so that
    ties do not grow the set. With N-1 of them it is `contrastive`.

    Args:
      anchors: unit rows [b, d], any floating type.
      bank: unit rows [N, d], N >= 2.
      index: the anchors' own rows [b], integers in 0..N-1.
      temperature: tau > 0, scalar or [d]; values of a JAX array below 1e-6 count as 1e-6.
      num_hard: negatives kept, in 1..N-1; the paper keeps 4095.

    Returns:
      The mean over anchors in nats, float32, and its parts: those of `contrastive`.

    Raises:
      ValueError: shapes that do not match, a temperature that is not positive, or a num_hard
        outside 1..N-1.

    Source: Wang 2021, Eq. 9, with the quantile alpha given as a count.
    """
    bank_terms.check(anchors, bank, index)
    positive, logits = bank_terms.logits(anchors, bank, index, temperature)
    hardest = _hardest(logits, index, bank, num_hard)
    against = bank_terms.log_sum_exp(hardest, jnp.ones_like(hardest, bool))
    losses = jax.nn.softplus(against - positive)
    return bank_terms.softmax_parts(positive, losses, bank_terms.inside(index, bank))


@any_mesh
def hard_simple_contrastive(anchors, bank, index, *, num_hard, weight=None):
    """Simple contrastive loss against the hardest negatives only.

      L_i = -s_ii + lambda sum_{j in H_i} s_ij,

    H_i as in `hard_contrastive`.

    Args:
      anchors: unit rows [b, d], any floating type.
      bank: unit rows [N, d], N >= 2.
      index: the anchors' own rows [b], integers in 0..N-1.
      num_hard: negatives kept, in 1..N-1; the paper keeps 4095.
      weight: lambda; None takes 1 / num_hard, the mean over the negatives used.

    Returns:
      The mean over anchors in units of cosine similarity, float32, and its parts: those of
      `simple_contrastive`.

    Raises:
      ValueError: shapes that do not match, or a num_hard outside 1..N-1.

    Source: Wang 2021, Sec. 5.5.
    """
    bank_terms.check(anchors, bank, index)
    positive, logits = bank_terms.logits(anchors, bank, index, 1.0)
    negative = jnp.sum(_hardest(logits, index, bank, num_hard), axis=1)
    weight = 1.0 / num_hard if weight is None else weight
    return _simple_parts(positive, weight * negative, bank_terms.inside(index, bank))


def _hardest(logits, index, bank, num_hard):
    """The `num_hard` largest logits to rows that are not the anchor's own, [b, num_hard]."""
    limit = bank.shape[0] - 1
    if not 1 <= num_hard <= limit:
        raise ValueError(
            f'num_hard must be in 1..{limit}, the negatives of the bank, got {num_hard}.'
        )
    negatives = jnp.where(bank_terms.others(index, bank), logits, -jnp.inf)
    return bank_terms.by_rows(lambda rows: jax.lax.top_k(rows, num_hard)[0], negatives)


def _simple_parts(positive, negative, counted):
    """The loss `mean(negative - positive)` and its parts, averaged over the counted anchors."""
    parts = {
        'positive': bank_terms.average(positive, counted),
        'negative': bank_terms.average(negative, counted),
        'left_out': jnp.mean(1.0 - counted.astype(jnp.float32)),
    }
    return bank_terms.average(negative - positive, counted), parts
