"""Laws of latents in the unit box and on the unit sphere, one draw a key."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

KNOTS = 8192  # of the table of an angle's distribution function
NEGLIGIBLE = 30.0  # densities below e^-30 of the largest are left out


def unit(vector):
    """A vector [d] divided by its norm."""
    return vector / jnp.linalg.norm(vector)


def uniform_on_sphere(key, dimensions):
    """A point [d] of the unit sphere, uniform."""
    return unit(jax.random.normal(key, (dimensions,)))


def truncated_normal(key, mean, deviation):
    """N(mean, deviation^2) in each coordinate, given that it lies in [0, 1].

    This is the law of redrawing a coordinate until it lies in the box, drawn by the inverse of the
    distribution function.

    Args:
      key: a key.
      mean: float32 [d] in [0, 1].
      deviation: sigma > 0, a number.

    Returns:
      float32 [d] in [0, 1].
    """
    deviation = np.float32(deviation)
    standard = jax.random.truncated_normal(
        key, -mean / deviation, (1 - mean) / deviation, mean.shape, jnp.float32
    )
    return jnp.clip(mean + deviation * standard, 0, 1)


def angle_table(dimensions, concentration):
    """The distribution function of the angle between a von Mises-Fisher point and its mean.

      p(angle) ~ exp(kappa cos(angle)) sin(angle)^(d - 2)

    Args:
      dimensions: d >= 2.
      concentration: kappa >= 0.

    Returns:
      float32 [2, knots]: angles, and the probability of a smaller one. Between knots the density
      is constant, which is within 1e-3 of the law in total variation.
    """

    def log_density(angles):
        return concentration * (np.cos(angles) - 1) + special.xlogy(dimensions - 2, np.sin(angles))

    coarse = np.linspace(0, np.pi, 2**16)
    logs = log_density(coarse)
    (kept,) = np.nonzero(logs > logs.max() - NEGLIGIBLE)
    ends = coarse[max(kept[0] - 1, 0)], coarse[min(kept[-1] + 1, len(coarse) - 1)]
    angles = np.linspace(*ends, KNOTS)
    logs = log_density(angles)
    density = np.exp(logs - logs.max())
    below = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return np.float32([angles, below / below[-1]])


def von_mises_fisher(key, mean, table):
    """A von Mises-Fisher point: its density on the sphere is proportional to exp(kappa mean.y).

    Args:
      key: a key.
      mean: unit vector, float32 [d].
      table: `angle_table` of the dimensions and the concentration.

    Returns:
      A unit vector, float32 [d].
    """
    angle_key, direction_key = jax.random.split(key)
    angles, below = table
    angle = jnp.interp(jax.random.uniform(angle_key), below, angles)
    direction = jax.random.normal(direction_key, mean.shape)
    direction = unit(direction - jnp.dot(direction, mean, precision='highest') * mean)
    return unit(jnp.cos(angle) * mean + jnp.sin(angle) * direction)
