"""The original form of instance discrimination: noise-contrastive estimation with a fixed Z."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from contrastive_jax.losses import bank_terms, similarities
from contrastive_jax.losses.any_mesh import any_mesh

# A traced kappa counts as at least this and at most its inverse: its logarithm is finite.
SMALLEST_KAPPA = 1e-30


@any_mesh
def instance_discrimination_noise_contrastive(
    anchors, bank, index, *, temperature, noise, kappa=None
):
    """The original form of instance discrimination: noise-contrastive estimation with fixed Z.

    With P_ij = exp(s_ij / tau) / (kappa N), an anchor's m noise rows and the noise distribution
    1 / N,

      L_i = -log [P_ii / (P_ii + m/N)] - sum_{noise j} log [(m/N) / (P_ij + m/N)].

    Kept for the stability study: it can diverge where `instance_discrimination` does not.

    Args:
      anchors: unit rows [b, d], any floating type.
      bank: unit rows [N, d], N >= 2.
      index: the anchors' own rows [b], integers in 0..N-1.
      temperature: tau > 0, scalar or [d]; values of a JAX array below 1e-6 count as 1e-6.
      noise: ids [b, k] drawn uniformly with replacement from 0..N-1; -1 is an empty place. m is
        the number of an anchor's other places, 1 if it has none.
      kappa: Z / N > 0; None takes `log_sphere_partition`'s. A JAX array counts as 1e-30 or 1e30
        where it lies outside of these, and has no gradient there.

    Returns:
      The mean over anchors in nats, float32, and its parts: `data` and `noise`, the two terms,
      which add up to it, and `left_out`, the share of anchors whose index lies outside the bank:
      they do not count, and without any other the loss is 0.

    Raises:
      ValueError: shapes that do not match, a temperature or kappa that is not positive, or no
        kappa with a temperature that is an array.

    Source: Wu 2020, Sec. 2 and App. B; Wu et al. 2018, Eqs. 4-8. The public code adds 1e-7 inside
    its logarithms; here they are log-sigmoids, which need no such constant.
    """
    bank_terms.check(anchors, bank, index, noise=noise)
    positive, logits = bank_terms.logits(anchors, bank, index, temperature)
    log_kappa = _log_kappa(kappa, temperature, anchors.shape[1])
    present = bank_terms.inside(noise, bank)
    draws = jnp.maximum(jnp.sum(present.astype(jnp.float32), axis=1), 1)
    # log P - log(m/N): N cancels.
    offset = log_kappa + jnp.log(draws)
    data = jax.nn.softplus(offset - positive)
    # Shifted before the places are read: one [b, k] array less.
    against = jax.nn.softplus(bank_terms.at(logits - offset[:, None], noise))
    against = jnp.sum(jnp.where(present, against, 0.0), axis=1)
    counted = bank_terms.inside(index, bank)
    parts = {
        'data': bank_terms.average(data, counted),
        'noise': bank_terms.average(against, counted),
        'left_out': jnp.mean(1.0 - counted.astype(jnp.float32)),
    }
    return bank_terms.average(data + against, counted), parts


def log_sphere_partition(temperature, dimension):
    """The log of kappa = E exp(u.v / tau), u and v independent and uniform on the sphere.

    kappa = 0F1(; d/2; 1 / (4 tau^2)): the constant that the noise-contrastive form estimates from
    its first batch as Z / N. It is 2.209 at tau = 0.07, d = 128.

    Args:
      temperature: tau > 0, a Python number; below 1e-6 it counts as 1e-6, as in the losses.
      dimension: d >= 1.

    Returns:
      A Python float.

    Raises:
      ValueError: a temperature that is not positive and finite.

    Source: the moments of the uniform distribution on the sphere; Wu 2020 prints kappa = 2.2456.
    """
    if not 0 < temperature < np.inf:
        raise ValueError(f'temperature must be positive and finite, got {temperature}.')
    temperature = max(temperature, similarities.SMALLEST_TEMPERATURE)
    # The terms rise up to the order k with k (k + d/2 - 1) = 1 / (4 tau^2) and fall behind it, at
    # a distance r by exp(-r^2 / 2k) and more: those further away are below the rounding of it.
    half = dimension / 2 - 1
    largest = (math.hypot(half, 1 / temperature) - half) / 2
    reach = 12 * math.sqrt(largest) + 64
    order = np.arange(max(0, int(largest - reach)), int(largest + reach) + 1)
    terms = 2 * order * np.log(0.5 / temperature) - special.gammaln(order + 1)
    terms += special.gammaln(dimension / 2) - special.gammaln(dimension / 2 + order)
    return float(special.logsumexp(terms))


def _log_kappa(kappa, temperature, dimension):
    """The log of kappa as given, or that of uniform unit rows at this temperature."""
    if kappa is None:
        if not isinstance(temperature, int | float):
            raise ValueError('kappa must be given unless temperature is a number, got kappa=None.')
        return log_sphere_partition(temperature, dimension)
    if isinstance(kappa, jax.Array):
        kappa = jnp.clip(kappa.astype(jnp.float32), SMALLEST_KAPPA, 1 / SMALLEST_KAPPA)
        return jnp.log(kappa)
    if not 0 < kappa < np.inf:
        raise ValueError(f'kappa must be positive and finite, got {kappa}.')
    return math.log(kappa)
