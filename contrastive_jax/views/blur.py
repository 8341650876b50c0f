"""Gaussian blur."""

import functools

import jax
import jax.numpy as jnp

from contrastive_jax.views.operations import Operation, check_probability, check_range


def random_blur(*, sigma_range=(0.1, 2.0), probability=0.5):
    """The operation that blurs with a Gaussian of random width.

    The kernel's size is a tenth of the height made odd, 2 * (height // 10 // 2) + 1: 23 at 224
    pixels, 3 at 32, and below 20 pixels 1, which leaves the image as it is.

    Args:
      sigma_range: least and largest standard deviation in pixels, positive; each image has its own.
      probability: of a blurred image.

    Returns:
      An operation with the parameter `sigma`, 0 where the image is not blurred.

    Raises:
      ValueError: an option outside its bounds.

    Source: Chen et al. 2020 (SimCLR), appendix A; its code shares one sigma among the images of a
    replica, which a view of one image cannot.
    """
    check_range('sigma_range', sigma_range)
    check_probability('blur_probability', probability)

    def sample(key, shape):
        del shape
        draws = jax.random.uniform(key, (2,))
        sigma = sigma_range[0] + (sigma_range[1] - sigma_range[0]) * draws[0]
        return {'sigma': jnp.where(draws[1] < probability, sigma, 0.0)}

    def apply(image, parameters):
        sigma = parameters['sigma']
        # The branch that is not taken must be finite too.
        blurred = gaussian_blur(image, jnp.where(sigma > 0.0, sigma, 1.0))
        return jnp.where(sigma > 0.0, blurred, image)

    return Operation(apply=apply, sample=sample)


def gaussian_blur(image, sigma):
    """The image blurred along rows, then along columns, with zeros beyond the border.

    The zeros darken the border, as in the official code: of an image of ones at 224 pixels and
    sigma 2, the corner becomes 0.36 and the edge 0.60.

    Args:
      image: [h, w, c] float32.
      sigma: standard deviation in pixels, positive, traced or not.

    Returns:
      [h, w, c] float32.
    """
    radius = image.shape[0] // 10 // 2
    kernel = gaussian(jnp.arange(-radius, radius + 1, dtype=jnp.float32), sigma)

    def weights(size):
        pixels = jnp.arange(size, dtype=jnp.float32)
        distance = pixels[:, None] - pixels[None, :]
        within = jnp.abs(distance) <= radius
        return jnp.where(within, gaussian(distance, sigma), 0.0) / jnp.sum(kernel)

    # Products: as a sum of shifted images, the compiler would repeat what was done to the image
    # before for each of them. Full precision: the default of some devices has 8 bits.
    product = functools.partial(jnp.einsum, precision=jax.lax.Precision.HIGHEST)
    image = product('xw,hwc->hxc', weights(image.shape[1]), image)
    return product('yh,hxc->yxc', weights(image.shape[0]), image)


def gaussian(distance, sigma):
    """exp(-distance^2 / (2 sigma^2))."""
    return jnp.exp(-jnp.square(distance) / (2.0 * sigma * sigma))
