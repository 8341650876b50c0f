"""Uniformity: how evenly the embeddings spread over the sphere."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln, logsumexp

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.pair_means import pair_mean, with_interval
from contrastive_jax.evaluation.rows import checked_rows, unit_length
from contrastive_jax.losses.similarities import inner_products
from contrastive_jax.losses.streaming import log_sum_exp


def uniformity(z, *, t=2.0):
    """Log of the mean Gaussian potential of all distinct pairs of unit rows.

      uniformity = log mean_{i<j} exp(-t |z_i - z_j|^2)

    0 where all rows are identical; `uniformity_of_sphere` for a uniform distribution. All pairs
    are summed, block by block on the device: float32 products and sums of a row, float64 beyond,
    the largest exponent taken out of each row. The error is below 1e-6 (1 + t). Tables of papers
    often print minus this number.

    Args:
      z: [n, d] embeddings, n >= 2, arrays of any framework. A zero row has no direction and stays
        at the origin, at distance 1 from unit rows: a network that outputs zeros has 0.
      t: positive and finite.

    Returns:
      A float in [-4 t, 0], in nats.

    Raises:
      BadInput: fewer than two rows, rows that are not finite, or t out of range.

    Source: Wang and Isola 2020; Wang 2021, Eq. 10 with t = 2.
    """
    return _log_mean(_log_potentials(z, t))


def uniformity_interval(z, *, t=2.0):
    """`uniformity`, `uniformity_low` and `uniformity_high`, for rows drawn independently.

    The normal 95 % interval from the first-order term of the U-statistic (`pair_means.pair_mean`)
    through the logarithm; it covers the draw of the rows, not that of the encoder. Where the rows
    are uniform that term vanishes and a smaller one, of order 1/n, is left out. Args and Raises as
    `uniformity`, with n >= 3.
    """
    logs = _log_potentials(z, t, least=3)
    # In units of the largest row, which leave the ratio of error and mean as it is.
    mean, error = pair_mean(np.exp(logs - logs.max()), np.full(len(logs), len(logs) - 1.0))
    return with_interval('uniformity', _log_mean(logs), error / mean)


def uniformity_of_sphere(dimensions, t=2.0):
    """Uniformity of independent uniform points of the sphere, which no distribution undercuts.

      log E exp(-t |x - y|^2) = -2 t + log 0F1(d / 2; t^2)

    -3.93753 for d = 128 and t = 2. (n points may lie a little below: they repel each other best in
    a regular arrangement, such as the simplex.)

    Args:
      dimensions: d >= 1 of the space around the sphere.
      t: positive and finite.

    Returns:
      A float, in nats.

    Raises:
      BadInput: d or t out of range.

    Source: Wang and Isola 2020, Proposition 1 (optimality).
    """
    if not dimensions >= 1:
        raise BadInput(f'dimensions is {dimensions}; it must be at least 1.')
    _check_t(t)
    half = dimensions / 2
    # Terms t^(2 k) / (k! (d/2)_k) are largest where k (k + d/2) = t^2, with a width of sqrt(t).
    largest, width = math.hypot(half / 2, t) - half / 2, 100 + 10 * math.sqrt(t)
    k = np.arange(max(0, math.floor(largest - width)), math.ceil(largest + width))
    terms = 2 * k * math.log(t) - gammaln(k + 1) - gammaln(half + k) + gammaln(half)
    return float(-2 * t + logsumexp(terms))


def _check_t(t):
    if not 0 < t < math.inf:
        raise BadInput(f't is {t}; it must be positive and finite.')


def _log_potentials(z, t, least=2):
    """Log-sum-exp of -t |z_i - z_j|^2 over j != i, float64 [n]."""
    _check_t(t)
    rows = unit_length(checked_rows(z, 'embeddings', least=least)).astype(np.float32)
    rows *= np.float32(math.sqrt(2 * t))
    # Every host has all rows and computes by itself, whatever mesh the training runs on.
    with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), ())):
        return np.asarray(_sums(rows), np.float64)


@jax.jit
def _sums(rows):
    return log_sum_exp(rows, exclude_groups_of=1, similarity=minus_half_squared_distances)


def minus_half_squared_distances(rows, columns):
    """-|a - b|^2 / 2 of all rows [n, d] and columns [m, d] of about equal length, float32 [n, m].

    From inner products, which lose the digits of distances far below the lengths: those count
    little here, because the potential is flat at zero.
    """
    half = np.float32(0.5)
    lengths = [half * jnp.sum(jnp.square(side), axis=1) for side in (rows, columns)]
    products = inner_products(rows, columns) - lengths[0][:, None] - lengths[1][None, :]
    return jnp.minimum(products, 0.0)


def _log_mean(logs):
    """From each row's log-sum-exp over the other rows to the log of the mean over pairs."""
    mean = logsumexp(logs) - math.log(len(logs)) - math.log(len(logs) - 1)
    return float(min(mean, 0.0))  # identical rows, rounded, may come out at 1e-7
