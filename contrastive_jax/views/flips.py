"""Mirroring."""

import jax
import jax.numpy as jnp

from contrastive_jax.views.operations import Operation, check_probability


def random_flip(*, probability=0.5):
    """The operation that mirrors the image left to right.

    Args:
      probability: of the mirrored image.

    Returns:
      An operation with the parameter `flipped`.

    Raises:
      ValueError: no probability.
    """
    check_probability('flip_probability', probability)

    def sample(key, shape):
        del shape
        return {'flipped': jax.random.bernoulli(key, probability)}

    def apply(image, parameters):
        width = image.shape[1]
        columns = jnp.arange(width)
        columns = jnp.where(parameters['flipped'], width - 1 - columns, columns)
        # A choice between two images would make the compiler compute the crop before it twice.
        return jnp.take(image, columns, axis=1, mode='clip')

    return Operation(apply=apply, sample=sample)
