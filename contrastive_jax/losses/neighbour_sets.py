"""Objectives over sets of neighbours in a memory bank: ball, annulus, local aggregation, CMC.

`background` and `close` are ids [b, k] of bank rows, -1 (or any id outside 0..N-1) an empty
place: the sets B_i and C_i. An id that a background names twice counts twice, as draws with
replacement must; the anchor's own row is always in and counts once, wherever it is named. For
anchors, bank and index see `memory_bank`.
"""

import jax
import jax.numpy as jnp

from contrastive_jax.losses import bank_terms
from contrastive_jax.losses.any_mesh import any_mesh
from contrastive_jax.losses.memory_bank import instance_discrimination

REDUCTIONS = ('sum', 'mean')


@any_mesh
def ball(anchors, bank, index, *, temperature, background):
    """BALL: the anchor's own row against its background set.

      L_i = -log [ e_ii / sum_{j in B_i} e_ij ],   e_ij = exp(anchors_i . bank_j / tau).

    log |B_i| minus it is the VINCE estimate of the mutual information. With the whole bank as
    background it is `instance_discrimination`. BALL+ is this with a background that shrinks from
    the whole bank while training (`memory.neighbours.ring`).

    Args:
      anchors: unit rows [b, d], any floating type.
      bank: unit rows [N, d], N >= 2.
      index: the anchors' own rows [b], integers in 0..N-1.
      temperature: tau > 0, scalar or [d]; values of a JAX array below 1e-6 count as 1e-6.
      background: ids [b, k] of B_i, -1 an empty place; the own row is added if it is not there.

    Returns:
      The mean over anchors in nats, float32, and its parts: `alignment` (minus the mean positive
      logit) and `log_sum_exp`, which add up to it, and `left_out`, the share of anchors whose
      index lies outside the bank.

    Raises:
      ValueError: shapes that do not match, or a temperature that is not positive.

    Source: Wu 2020, Sec. 5 (BALL).
    """
    nothing = jnp.zeros((anchors.shape[0], 0), jnp.int32)
    return annulus(
        anchors, bank, index, temperature=temperature, background=background, close=nothing
    )


@any_mesh
def annulus(anchors, bank, index, *, temperature, background, close, include_positive=True):
    """ANN: the anchor's own row against the background that is not close to it.

      L_i = -log [ e_ii / sum_{j in (B_i without C_i) and i} e_ij ],

    e_ij = exp(anchors_i . bank_j / tau). With an empty close set it is `ball`.

    Args:
      anchors: unit rows [b, d], any floating type.
      bank: unit rows [N, d], N >= 2.
      index: the anchors' own rows [b], integers in 0..N-1.
      temperature: tau > 0, scalar or [d]; values of a JAX array below 1e-6 count as 1e-6.
      background: ids [b, k] of B_i, -1 an empty place.
      close: ids [b, m] of C_i, -1 an empty place; order and repetitions do not matter.
      include_positive: False takes the own row out of the denominator, as the formula is
        printed (i is in C_i): unbounded below, and no longer a bound on mutual information.

    Returns:
      The mean over anchors in nats, float32, and its parts: those of `ball`. With
      include_positive=False an anchor whose ring is empty is left out too.

    Raises:
      ValueError: shapes that do not match, or a temperature that is not positive.

    Source: Wu 2020, Sec. 5 (ANN).
    """
    bank_terms.check(anchors, bank, index, background=background, close=close)
    positive, logits, member = _background(anchors, bank, index, temperature, background)
    member = member & ~bank_terms.listed(close, background, bank.shape[0])
    counted = bank_terms.inside(index, bank)
    losses = bank_terms.log_sum_exp(logits, member) - positive
    if include_positive:
        losses = jax.nn.softplus(losses)
    else:
        counted = counted & jnp.any(member, axis=1)
    return bank_terms.softmax_parts(positive, losses, counted)


@any_mesh
def local_aggregation(anchors, bank, index, *, temperature, background, close, reduce='sum'):
    """Local aggregation (LA): the anchor's close neighbours against its background.

      L_i = -log [ sum_{j in C_i and B_i} e_ij / sum_{j in B_i} e_ij ],

    e_ij = exp(anchors_i . bank_j / tau), i in both sets. With C_i = {i} it is `ball`, which it
    never exceeds. reduce='mean' divides the numerator by the number of its members.

    Args:
      anchors: unit rows [b, d], any floating type.
      bank: unit rows [N, d], N >= 2.
      index: the anchors' own rows [b], integers in 0..N-1.
      temperature: tau > 0, scalar or [d]; values of a JAX array below 1e-6 count as 1e-6.
      background: ids [b, k] of B_i, -1 an empty place; the own row is added if it is not there.
      close: ids [b, m] of C_i, -1 an empty place; those outside the background do not count.
      reduce: 'sum' or 'mean', over the numerator.

    Returns:
      The mean over anchors in nats, float32, and its parts: `alignment` (minus the mean log
      numerator) and `log_sum_exp`, which add up to it, and `left_out`, the share of anchors whose
      index lies outside the bank.

    Raises:
      ValueError: shapes that do not match, a temperature that is not positive, or an unknown
        reduce.

    Source: Wu 2020, Sec. 2 (LA); Zhuang et al. 2019.
    """
    bank_terms.check(anchors, bank, index, background=background, close=close)
    if reduce not in REDUCTIONS:
        raise ValueError(f'reduce must be one of {", ".join(REDUCTIONS)}, got {reduce!r}.')
    positive, logits, member = _background(anchors, bank, index, temperature, background)
    aggregated = member & bank_terms.listed(close, background, bank.shape[0])
    numerator = jnp.logaddexp(positive, bank_terms.log_sum_exp(logits, aggregated))
    against = bank_terms.log_sum_exp(logits, member & ~aggregated)
    losses = jax.nn.softplus(against - numerator)
    if reduce == 'mean':
        log_members = jnp.log1p(jnp.sum(aggregated.astype(jnp.float32), axis=1))
        numerator, losses = numerator - log_members, losses + log_members
    return bank_terms.softmax_parts(numerator, losses, bank_terms.inside(index, bank))


@any_mesh
def contrastive_multiview_coding(
    anchors1, anchors2, bank1, bank2, index, *, temperature, backgrounds=None, closes=None
):
    """Contrastive multiview coding (CMC): two encoders, each against the bank of the other.

      L = objective(anchors1, bank2) + objective(anchors2, bank1)

    The objective is `instance_discrimination`, with backgrounds `ball` (CMC-BALL, CMC-BALL+),
    with closes too `annulus` (CMC-ANN, CMC-ANN+). With identical views and banks it is twice the
    objective.

    Args:
      anchors1: unit rows [b, d] of the first encoder (luminance), any floating type.
      anchors2: unit rows [b, d] of the second encoder (colour) for the same examples.
      bank1: unit rows [N, d] of the first encoder, N >= 2.
      bank2: unit rows [N, d] of the second encoder.
      index: the examples' rows in both banks [b], integers in 0..N-1.
      temperature: tau > 0, scalar or [d]; values of a JAX array below 1e-6 count as 1e-6.
      backgrounds: None, or a pair of ids [b, k]: of bank2 for anchors1, of bank1 for anchors2.
      closes: None, or a pair of ids [b, m] likewise; needs backgrounds.

    Returns:
      The mean over examples of the sum of both directions, in nats, float32, and its parts:
      `alignment` and `log_sum_exp`, which add up to it, and `left_out`, the share of anchors
      whose index lies outside the banks.

    Raises:
      ValueError: shapes that do not match, a temperature that is not positive, or closes without
        backgrounds.

    Source: Wu 2020, Sec. 2 (CMC) and Table 2; Tian et al. 2019.
    """
    if closes is not None and backgrounds is None:
        raise ValueError('closes needs backgrounds, got backgrounds=None.')
    total, parts = 0.0, {}
    for side, (anchors, bank) in enumerate(((anchors1, bank2), (anchors2, bank1))):
        sets = {} if backgrounds is None else {'background': backgrounds[side]}
        if closes is not None:
            sets['close'] = closes[side]
        objective = (instance_discrimination, ball, annulus)[len(sets)]
        if side == 1:
            # One direction waits for the other, backwards too, so that their matrices share memory.
            # (The CPU compiler drops an optimisation barrier.)
            anchors = anchors + (0 * total).astype(anchors.dtype)
        loss, terms = objective(anchors, bank, index, temperature=temperature, **sets)
        total = total + loss
        for name in ('alignment', 'log_sum_exp'):
            parts[name] = parts.get(name, 0.0) + terms[name]
        parts['left_out'] = terms['left_out']
    return total, parts


def _background(anchors, bank, index, temperature, background):
    """The positive logit [b], the background's logits [b, k], and which of them count [b, k]."""
    positive, logits = bank_terms.logits(anchors, bank, index, temperature)
    member = bank_terms.inside(background, bank)
    member = member & (background.astype(jnp.int32) != index.astype(jnp.int32)[:, None])
    return positive, bank_terms.at(logits, background), member
