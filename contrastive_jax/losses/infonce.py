"""Losses of the InfoNCE family: a softmax over candidates, of which one is the positive.

Each is the mean over anchors of softplus(log-sum-exp of the negatives - positive logit), which
equals minus the log of the positive's softmax share and keeps its digits where the loss is small.
"""

import math

import jax
import jax.numpy as jnp

from contrastive_jax.losses import similarities, streaming
from contrastive_jax.losses.any_mesh import any_mesh

SIMILARITIES = ('cosine', 'standardized', 'inner_product')

# Logits of float32 products that differ by less than this share of their size are one.
ROUNDING = 1e-5


@any_mesh
def nt_xent(z1, z2, *, temperature, similarity='cosine', negatives=None, block_size=None):
    """Normalised temperature-scaled cross entropy (NT-Xent), the loss of SimCLR.

    With u the 2n rows of both views and p(i) the other view of row i,

      L = 1/(2n) sum_i [ -u_i.u_p(i) / tau + log sum_{k != i} exp(u_i.u_k / tau) ].

    Args:
      z1: projections of the first views [n, d], n >= 2, any floating type.
      z2: projections of the second views [n, d]; row i is of the same example as row i of `z1`.
      temperature: tau > 0, a scalar or [d]: each dimension's product is divided by its own. A
        JAX array (a learned temperature) counts as 1e-6 where it is smaller.
      similarity: 'cosine' (unit rows), 'inner_product' (rows as they are; an entry over sqrt(tau)
        counts as at most 1e14 / sqrt(d), and has no gradient beyond) or 'standardized' (each
        dimension to mean 0 and variance 1 over all rows, products divided by sqrt(d)).
      negatives: [m, d], m >= 1, or None. They replace the in-batch negatives: the candidates of an
        anchor are its positive and these m; the gradient reaches them.
      block_size: side of a block of logits, or None to choose it from n.

    Returns:
      The mean over the 2n anchors in nats, float32, and its parts: `alignment` (minus the mean
      positive logit) and `log_sum_exp` (the rest), which add up to it, and `accuracy`, the share
      of anchors whose positive is nearer than every negative (ties count as misses), in [0, 1].
      At chance it is log(2n - 1), with `negatives` log(m + 1).

    Raises:
      ValueError: shapes that do not fit, fewer than 2 pairs, fewer than 1 negative, a temperature
        that is not positive or has the wrong length, an unknown similarity.

    Source: Chen et al. 2020 (SimCLR), Eq. 1; Chen 2021, Eq. 1; vector temperature, standardised
    rows: Rusak 2022; negatives from elsewhere: Lee 2023. The official code prints twice this
    value, the sum of its two directions.
    """
    similarities.check_pairs('nt_xent', z1, z2, fewest=2 if negatives is None else 1)
    if negatives is not None:
        similarities.check_rows('negatives', negatives, z1.shape[1])
    pairs = z1.shape[0]
    first, second, *others = _comparable(similarity, [z1, z2, negatives], temperature)
    rows = similarities.interleaved(first, second)
    against, largest = streaming.log_sum_exp_and_largest(
        rows,
        others[0] if others else None,
        exclude_groups_of=0 if others else 2,
        block_size=block_size,
    )
    positive = _products(first, second)
    return _softmax_loss(
        jnp.stack([positive, positive], axis=1).reshape(2 * pairs), against, largest
    )


@any_mesh
def cross_view_info_nce(z1, z2, *, temperature):
    """InfoNCE with the rows of the other view as candidates, the mean of both directions.

      L = 1/(2n) sum_i [ -2 s_ii + log sum_k exp s_ik + log sum_k exp s_ki ],  s = u v^T / tau

    with u and v the unit rows of the views.

    Args:
      z1: projections of the first views [n, d], n >= 2, any floating type.
      z2: projections of the second views [n, d]; row i is of the same example as row i of `z1`.
      temperature: tau > 0, a scalar or [d], as in `nt_xent`.

    Returns:
      The mean over the 2n anchors (n candidates each) in nats, float32, and its parts: `alignment`
      and `log_sum_exp`, which add up to it, and `accuracy`, as in `nt_xent`. At chance it is log n.

    Raises:
      ValueError: shapes that do not fit, fewer than 2 pairs, a temperature as in `nt_xent`.

    Source: Chen 2021, the RandBit experiment, which prints the sum of both directions: twice this.
    """
    similarities.check_pairs('cross_view_info_nce', z1, z2)
    first, second = _comparable('cosine', [z1, z2], temperature)
    directions = streaming.log_sum_exp_both_ways(first, second, exclude_groups_of=1)
    against, largest = (jnp.stack(both) for both in zip(*directions, strict=True))
    positive = _products(first, second)
    return _softmax_loss(jnp.stack([positive, positive]), against, largest)


@any_mesh
def directclr(z1, z2, *, temperature, num_dimensions):
    """DirectCLR: cross-view InfoNCE on the first d0 dimensions, without a projector.

      L = cross_view_info_nce(z1[:, :d0], z2[:, :d0]), each sub-vector to unit length

    Args:
      z1: representations of the first views [n, d], n >= 2, any floating type.
      z2: representations of the second views [n, d], row by row of the same examples as `z1`.
      temperature: tau > 0, a scalar or [d0].
      num_dimensions: d0 in [1, d]. The other dimensions get no gradient.

    Returns:
      As `cross_view_info_nce`: the mean in nats, float32, and `alignment`, `log_sum_exp`,
      `accuracy`.

    Raises:
      ValueError: `num_dimensions` outside [1, d], and as `cross_view_info_nce`.

    Source: Jing et al. 2022 (DirectCLR); Rusak 2022, Appendix E.
    """
    similarities.check_pairs('directclr', z1, z2)
    if not 1 <= num_dimensions <= z1.shape[1]:
        raise ValueError(f'num_dimensions must be in [1, {z1.shape[1]}], got {num_dimensions}.')
    first, second = z1[:, :num_dimensions], z2[:, :num_dimensions]
    return cross_view_info_nce(first, second, temperature=temperature)


@any_mesh
def decoupled_nt_xent(z1, z2, *, temperature, weight):
    """NT-Xent with the weight of its distribution term set free of its temperature.

      L = 1/(2n) sum_i [ -u_i.u_p(i) + weight log sum_{k != i} exp(u_i.u_k / tau) ]

    with u the 2n unit rows of both views. At weight = tau it is tau times NT-Xent.

    Args:
      z1: projections of the first views [n, d], n >= 2, any floating type.
      z2: projections of the second views [n, d]; row i is of the same example as row i of `z1`.
      temperature: tau > 0 of the second term, a scalar or [d].
      weight: factor of the second term.

    Returns:
      The mean over the 2n anchors, float32, in units of the cosine, and its parts: `alignment`
      (minus the mean cosine of the pairs) and `log_sum_exp` (before its weight, in nats): the loss
      is alignment + weight * log_sum_exp.

    Raises:
      ValueError: shapes that do not fit, fewer than 2 pairs, a temperature as in `nt_xent`.

    Source: Chen 2021, Eq. 4. (Its notebook's form, with the self term and the alignment divided
    by d, is `generalized_contrastive`.)
    """
    similarities.check_pairs('decoupled_nt_xent', z1, z2)
    first, second = similarities.unit_rows(z1), similarities.unit_rows(z2)
    alignment = -jnp.mean(_products(first, second))
    rows = similarities.scale_by_temperature(similarities.interleaved(first, second), temperature)
    log_sum_exp = jnp.mean(streaming.log_sum_exp(rows, exclude_groups_of=1))
    parts = {'alignment': alignment, 'log_sum_exp': log_sum_exp}
    return alignment + weight * log_sum_exp, parts


@any_mesh
def sphere_info_nce(anchors, positives, *, temperature):
    """InfoNCE on the sphere; the negatives are the other rows' anchors.

      L = 1/n sum_i [ -a_i.p_i / tau + log( exp(a_i.p_i / tau) + sum_{k != i} exp(a_i.a_k / tau) ) ]

    Args:
      anchors: unit rows [n, d], n >= 2, any floating type; they are not normalised here.
      positives: unit rows [n, d]; row i belongs to row i of `anchors`.
      temperature: tau > 0, a scalar or [d], as in `nt_xent`.

    Returns:
      The mean over the n anchors (n candidates each) in nats, float32, and its parts: `align` (the
      first term) and `uniform` (the second), which add up to it.

    Raises:
      ValueError: shapes that do not fit, fewer than 2 pairs, a temperature as in `nt_xent`.

    Source: Rusak 2022, Eq. 1, negatives against the anchor as in its experiments.
    """
    similarities.check_pairs('sphere_info_nce', anchors, positives, ('anchors', 'positives'))
    first, second = _comparable('inner_product', [anchors, positives], temperature)
    against = streaming.log_sum_exp(first, exclude_groups_of=1)
    return _align_and_uniform(_products(first, second), against)


@any_mesh
def box_info_nce(anchors, positives, *, temperature, power=2):
    """InfoNCE in a box: a softmax over minus the q-th power of the Lq distance.

      L = 1/n sum_i [ D(a_i, p_i) + log( exp -D(a_i, p_i) + sum_{k != i} exp -D(a_i, a_k) ) ],
      D(a, b) = sum_d |a_d - b_d|^q / tau_d

    Args:
      anchors: [n, d], n >= 2, any floating type; they are not normalised.
      positives: [n, d]; row i belongs to row i of `anchors`.
      temperature: tau > 0, a scalar or [d], as in `nt_xent`.
      power: q >= 1.

    Returns:
      The mean over the n anchors (n candidates each) in nats, float32, and its parts: `align` (the
      first term) and `uniform` (the second), which add up to it. A term |a_d - b_d|^q / tau_d
      counts as at most 1e28, and has no gradient there.

    Raises:
      ValueError: `power` below 1, shapes that do not fit, fewer than 2 pairs, a temperature as in
        `nt_xent`.

    Source: Rusak 2022, Table 1 and Appendix (the sum, not the mean, of the candidates).
    """
    similarities.check_pairs('box_info_nce', anchors, positives, ('anchors', 'positives'))
    if not power >= 1:
        raise ValueError(f'power must be at least 1, got {power}.')
    first, second = (
        similarities.scale_by_temperature(jnp.asarray(rows, jnp.float32), temperature, power)
        for rows in (anchors, positives)
    )
    # The differences of a block are [r, c, d]: smaller blocks keep them to a few MiB.
    dimensions = max(first.shape[1], 4)
    against = streaming.log_sum_exp(
        first,
        exclude_groups_of=1,
        similarity=similarities.power_similarity(power),
        block_size=max(1, 2 * streaming.LARGEST_BLOCK // math.isqrt(dimensions)),
    )
    positive = -jnp.sum(similarities.absolute_power(first - second, power), axis=1)
    return _align_and_uniform(positive, against)


@any_mesh
def queue_contrastive(queries, keys, queue, *, temperature):
    """Momentum contrast (MoCo): the key of the same example against a queue of earlier keys.

      L = 1/b sum_i [ -q_i.k_i / tau + log( exp(q_i.k_i / tau) + sum_j exp(q_i.m_j / tau) ) ]

    Args:
      queries: unit rows [b, d], b >= 1, any floating type; they are not normalised here.
      keys: unit rows [b, d]; row i is of the same example as row i of `queries`.
      queue: unit rows [K, d], K >= 1: the negatives m_j. Read the queue before writing `keys`.
      temperature: tau > 0, a scalar or [d], as in `nt_xent`.

    Returns:
      The mean over the b queries (K + 1 candidates each, the positive first) in nats, float32, and
      its parts: `alignment` and `log_sum_exp`, which add up to it, and `accuracy`, as in
      `nt_xent`. MoCo takes keys and queue as constants: they come from the momentum encoder's
      parameters, which are not differentiated; here the gradient is that of all three arguments.

    Raises:
      ValueError: shapes that do not fit, no pair, an empty queue, a temperature as in `nt_xent`.

    Source: He et al. 2020 (MoCo), Eq. 1 and Algorithm 1.
    """
    similarities.check_pairs('queue_contrastive', queries, keys, ('queries', 'keys'), fewest=1)
    similarities.check_rows('queue', queue, queries.shape[1])
    first, second, queue = _comparable('inner_product', [queries, keys, queue], temperature)
    against, largest = streaming.log_sum_exp_and_largest(first, queue, whole_columns=True)
    return _softmax_loss(_products(first, second), against, largest)


def _comparable(similarity, sets, temperature):
    """Sets of rows whose inner products are the logits; a set that is None is dropped."""
    sets = [jnp.asarray(rows, jnp.float32) for rows in sets if rows is not None]
    if similarity == 'cosine':
        sets = [similarities.unit_rows(rows) for rows in sets]
    elif similarity == 'standardized':
        sets = similarities.standardized(sets)
    elif similarity != 'inner_product':
        raise ValueError(f'similarity must be one of {SIMILARITIES}, got {similarity!r}.')
    sets = [similarities.scale_by_temperature(rows, temperature) for rows in sets]
    # Only rows taken as they are can be long enough, and the bound keeps a copy of every set.
    return [similarities.bounded(rows) for rows in sets] if similarity == 'inner_product' else sets


def _products(first, second):
    """Inner product of each row with its partner, [n]."""
    return jnp.sum(first * second, axis=1)


def _softmax_loss(positive, against, largest):
    """Mean loss and parts from positive logits, log-sum-exp and maximum of the negatives."""
    loss = jnp.mean(jax.nn.softplus(against - positive))
    alignment = -jnp.mean(positive)
    hits = positive - largest > ROUNDING * jnp.abs(largest)
    accuracy = jnp.mean(hits.astype(jnp.float32))
    parts = {'alignment': alignment, 'log_sum_exp': loss - alignment, 'accuracy': accuracy}
    return loss, parts


def _align_and_uniform(positive, against):
    loss = jnp.mean(jax.nn.softplus(against - positive))
    align = -jnp.mean(positive)
    return loss, {'align': align, 'uniform': loss - align}
