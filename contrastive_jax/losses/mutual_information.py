"""Estimates of mutual information from a critic's scores or a contrastive loss, in nats or bits.

A critic f gives `scores` [n, n]: entry (i, j) is f(x_i, y_j), so that the diagonal holds draws of
the joint distribution and the rest draws of the product of the marginals.
"""

import math

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

from contrastive_jax.losses.any_mesh import any_mesh

UNITS = {'nats': 1.0, 'bits': math.log(2)}
NORMALIZATIONS = ('log_k', 'log_2k_minus_1')

# e^80 is the largest mean that `nwj` subtracts: float32 ends at e^88.
LARGEST_EXPONENT = 80.0


def info_nce_bound(loss, k, *, normalization='log_k', unit='nats'):
    """The InfoNCE lower bound of mutual information: log of the candidates minus the loss.

      I >= log K - L            'log_k': K candidates, the positive among them
      I >= log(2K - 1) - L      'log_2k_minus_1': NT-Xent of K pairs, 2K - 1 candidates

    It cannot exceed the logarithm. With the K pairs of one batch as candidates NT-Xent's form can
    exceed the true value by some thousandths, for its candidates are not independent.

    Args:
      loss: contrastive loss in nats, any shape: cross entropy over K candidates for 'log_k' (over
        a bank K is its size), `nt_xent` for 'log_2k_minus_1'.
      k: K, candidates or pairs, at least 1.
      normalization: 'log_k' or 'log_2k_minus_1'.
      unit: 'nats' or 'bits'.

    Returns:
      Float32 of the shape of `loss`, in `unit`.

    Raises:
      ValueError: an unknown normalization or unit, or k below 1.

    Source: Wu 2020, Eq. 6 (log K); Lee 2023, Eq. 4 (log(2K - 1)).
    """
    if normalization not in NORMALIZATIONS:
        raise ValueError(f'normalization must be one of {NORMALIZATIONS}, got {normalization!r}.')
    if k < 1:
        raise ValueError(f'k must be at least 1, got {k}.')
    candidates = k if normalization == 'log_k' else 2 * k - 1
    return _in_unit(math.log(candidates) - jnp.asarray(loss, jnp.float32), unit)


def vince_bound(loss, background_sizes, *, unit='nats'):
    """The VINCE estimate, whose negatives come from a background set: log |B| minus the loss.

      I_VINCE = mean_i log |B_i| - L

    It is at most log |B|, and below the InfoNCE bound of the same critic where the background
    holds the candidates of the largest scores.

    Args:
      loss: `ball` or `annulus` in nats, scalar: cross entropy over the background set.
      background_sizes: |B_i|, the positive counted, a number or one for each anchor [b]. Sizes
        below 1 count as 1.
      unit: 'nats' or 'bits'.

    Returns:
      Float32 scalar in `unit`.

    Raises:
      ValueError: an unknown unit.

    Source: Wu 2020, Theorem 4.1 and Corollary 4.1.1.
    """
    sizes = jnp.maximum(jnp.asarray(background_sizes, jnp.float32), 1)
    return _in_unit(jnp.mean(jnp.log(sizes)) - jnp.asarray(loss, jnp.float32), unit)


@any_mesh
def nwj(scores, *, unit='nats'):
    """The bound of Nguyen, Wainwright and Jordan, tight at f = 1 + log p(x|y) / p(x).

      I >= E_joint f - e^-1 E_marginals e^f

    Args:
      scores: f(x_i, y_j) [n, n], n >= 2, any floating type.
      unit: 'nats' or 'bits'.

    Returns:
      Float32 scalar in `unit`. The second term counts as at most e^80, so it is finite where the
      scores and the sum of the diagonal are.

    Raises:
      ValueError: scores that are not square, fewer than 2 rows, or an unknown unit.

    Source: Wu 2020, Lemma A.2.
    """
    joint, others = _joint_and_marginals(scores)
    number = len(joint)
    exponent = logsumexp(others) - math.log(number * (number - 1)) - 1
    return _in_unit(jnp.mean(joint) - jnp.exp(jnp.minimum(exponent, LARGEST_EXPONENT)), unit)


@any_mesh
def barber_agakov(scores, *, log_partition=None, unit='nats'):
    """The unnormalised Barber-Agakov bound, tight at f = log p(x|y) / p(x) + c(y).

      I >= E_joint f - E_y log Z(y),   Z(y) = E_p(x) e^f(x, y)

    It is a lower bound with the true log Z only. With the estimate from the other rows, which is
    used by default, it is too large by Jensen's inequality, the less the more rows.

    Args:
      scores: f(x_i, y_j) [n, n], n >= 2, any floating type.
      log_partition: log Z(y_j) [n] where it is known, or None to estimate it.
      unit: 'nats' or 'bits'.

    Returns:
      Float32 scalar in `unit`, finite only for finite scores of a finite sum: nothing is cut off.

    Raises:
      ValueError: scores that are not square, fewer than 2 rows, a partition of another length, or
        an unknown unit.

    Source: Wu 2020, Lemma A.1; its normalised form has scores log q(x|y) - log p(x) and log Z = 0.
    """
    joint, others = _joint_and_marginals(scores)
    if log_partition is None:
        log_partition = logsumexp(others, axis=0) - math.log(len(joint) - 1)
    elif log_partition.shape != joint.shape:
        raise ValueError(
            f'log_partition must have {len(joint)} entries, got shape {log_partition.shape}.'
        )
    return _in_unit(jnp.mean(joint) - jnp.mean(log_partition.astype(jnp.float32)), unit)


def _joint_and_marginals(scores):
    """The diagonal [n], and the scores [n, n] with a diagonal of -inf."""
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1] or scores.shape[0] < 2:
        raise ValueError(f'scores must be [n, n] with n >= 2, got {scores.shape}.')
    scores = scores.astype(jnp.float32)
    return jnp.diagonal(scores), jnp.where(np.eye(len(scores), dtype=bool), -jnp.inf, scores)


def _in_unit(nats, unit):
    if unit not in UNITS:
        raise ValueError(f'unit must be one of {tuple(UNITS)}, got {unit!r}.')
    return nats / UNITS[unit]
