"""The CIE Lab colour space: lightness, and colour apart from it."""

import jax
import jax.numpy as jnp
import numpy as np

# From linear sRGB to CIE XYZ, and the white of the D65 illuminant at 2 degrees.
RGB_TO_XYZ = np.array(
    [
        [0.412453, 0.357580, 0.180423],
        [0.212671, 0.715160, 0.072169],
        [0.019334, 0.119193, 0.950227],
    ]
)
WHITE = np.array([0.95047, 1.0, 1.08883])

# L + 16, a and b of f(x), f(y), f(z).
FROM_ROOTS = np.array([[0.0, 116.0, 0.0], [500.0, -500.0, 0.0], [0.0, 200.0, -200.0]])

# What Contrastive Multiview Coding subtracts from and divides L, a and b by.
MEAN = np.array([50.0, 6.025, -6.6895], np.float32)
SCALE = np.array([50.0, 92.208, 101.1675], np.float32)


def rgb_to_lab(image):
    """CIE Lab of an sRGB image.

    With x, y, z the linear sRGB colour in XYZ over that of white, and f the cube root (linear
    below 0.008856): L = 116 f(y) - 16, a = 500 (f(x) - f(y)), b = 200 (f(y) - f(z)).

    Args:
      image: [h, w, 3] float32 in [0, 1].

    Returns:
      [h, w, 3] float32: L in [0, 100]; a and b about -110 to 100, 0 where the image is grey.

    Raises:
      ValueError: an image of another number of channels.

    Source: CIE 1976, sRGB (IEC 61966-2-1), illuminant D65.
    """
    if image.shape[-1] != 3:
        raise ValueError(f'image has {image.shape[-1]} channels; Lab takes 3 (red, green, blue).')
    # The branch that is not taken must have a finite gradient too.
    bright = jnp.maximum(image, 0.04045)
    linear = jnp.where(image > 0.04045, ((bright + 0.055) / 1.055) ** 2.4, image / 12.92)
    relative = per_pixel(RGB_TO_XYZ / WHITE[:, None], linear)
    roots = jnp.where(
        relative > 0.008856,
        jnp.cbrt(jnp.maximum(relative, 0.008856)),
        7.787 * relative + np.float32(16 / 116),
    )
    return per_pixel(FROM_ROOTS, roots) - np.array([16.0, 0.0, 0.0], np.float32)[None, None]


def per_pixel(matrix, image):
    """A 3 x 3 matrix times the channels of each pixel, as a product, which nothing repeats."""
    matrix = np.asarray(matrix, np.float32)
    return jnp.einsum('dc,hwc->hwd', matrix, image, precision=jax.lax.Precision.HIGHEST)


def split_lab(image):
    """Luminance and colour of an image, normalised.

    Args:
      image: [h, w, 3] float32 in [0, 1].

    Returns:
      (luminance [h, w, 1] in [-1, 1], colour [h, w, 2]): L, and a and b, of `rgb_to_lab`, minus
      (50, 6.025, -6.6895) over (50, 92.208, 101.1675).

    Source: Tian et al. 2020 (Contrastive Multiview Coding); its code.
    """
    normalised = (rgb_to_lab(image) - MEAN[None, None]) / SCALE[None, None]
    return normalised[..., :1], normalised[..., 1:]
