"""Destroyed structure, as a control."""

import jax
import jax.numpy as jnp

from contrastive_jax.views.operations import Operation


def random_scramble(*, patch=1):
    """The operation that puts the patches of an image in random order.

    All values of the image stay, and so do its histogram and the inside of a patch; where things
    are is lost. What an encoder learns from such views needs no arrangement.

    Args:
      patch: side of a square patch in pixels, from 1; it divides the height and the width.

    Returns:
      An operation with the parameter `permutation` [number of patches] int32: place i shows the
      patch that was at place permutation[i], row by row.

    Raises:
      ValueError: a patch that does not divide the sides of the image.
    """
    if isinstance(patch, bool) or not isinstance(patch, int) or patch < 1:
        raise ValueError(f'patch is {patch!r}, not a whole number of pixels from 1.')

    def sample(key, shape):
        height, width, _ = shape
        if height % patch or width % patch:
            raise ValueError(f'patch is {patch}, which does not divide a {height} x {width} image.')
        count = (height // patch) * (width // patch)
        return {'permutation': jax.random.permutation(key, count).astype(jnp.int32)}

    def apply(image, parameters):
        height, width, channels = image.shape
        blocks = (height // patch, patch, width // patch, patch, channels)
        patches = jnp.swapaxes(image.reshape(blocks), 1, 2)
        order = parameters['permutation']
        moved = patches.reshape(-1, patch, patch, channels)[order].reshape(patches.shape)
        return jnp.swapaxes(moved, 1, 2).reshape(image.shape)

    return Operation(apply=apply, sample=sample)
