"""Resizing a box of an image, in two forms that give the same image.

Interpolation reads 2 or 4 pixels along each axis. One form gathers these; the other multiplies by
dense weights, most of which are 0. Here alone it is decided which one runs.
"""

import jax
import jax.numpy as jnp

METHODS = ('linear', 'cubic')

# Up to this side, 4 taps of a colour image cost more to gather than to multiply (on a CPU).
LARGEST_DENSE = 48


def crop_and_resize(image, box, shape, method):
    """A box of an image resized to `shape`; pixels outside the box never contribute.

    Equal to `jax.image.resize(image[top:top+h, left:left+w], ..., antialias=False)`, with a box
    that may be traced: half-pixel centres, weights renormalised at the border, no antialiasing.

    Args:
      image: [h, w, c] float32.
      box: (top, left, crop height, crop width), integers, traced or not.
      shape: (height, width) of the result.
      method: 'linear' or 'cubic' (Keys, a = -0.5).

    Returns:
      [height, width, c] float32. Cubic interpolation may leave the range of the image a little.

    Source: the bicubic and bilinear resizing of TensorFlow 2, which SimCLR uses.
    """
    small = max(*image.shape[:2], *shape) <= LARGEST_DENSE
    if method == 'cubic' and image.shape[2] > 1 and small:
        return resize_by_product(image, box, shape, method)
    return resize_by_gather(image, box, shape, method)


def resize_by_product(image, box, shape, method):
    """`crop_and_resize` as one matrix product along each axis."""
    top, left, crop_height, crop_width = box
    rows = dense_weights(image.shape[0], top, crop_height, shape[0], method)
    columns = dense_weights(image.shape[1], left, crop_width, shape[1], method)
    return jnp.einsum('yh,hwc,xw->yxc', rows, image, columns, precision=jax.lax.Precision.HIGHEST)


def resize_by_gather(image, box, shape, method):
    """`crop_and_resize` as a weighted sum of 2 or 4 gathered rows, then of as many columns."""
    top, left, crop_height, crop_width = box
    image = gather_rows(image, top, crop_height, shape[0], method)
    # Columns as rows, so that what is gathered lies together in memory.
    image = jnp.swapaxes(image, 0, 1)
    image = gather_rows(image, left, crop_width, shape[1], method)
    return jnp.swapaxes(image, 0, 1)


def gather_rows(image, start, length, new_size, method):
    """Rows `start` to `start + length - 1` of [h, w, c], resized to [new_size, w, c]."""
    pixels, weights = taps(start, length, new_size, method)
    return sum(
        weights[:, tap, None, None] * jnp.take(image, pixels[:, tap], axis=0, mode='clip')
        for tap in range(weights.shape[1])
    )


def taps(start, length, new_size, method):
    """The input pixels that an output pixel reads along one axis, and their weights.

    Args:
      start: first pixel of the crop.
      length: number of pixels of the crop.
      new_size: number of output pixels.
      method: 'linear' (2 taps) or 'cubic' (4 taps).

    Returns:
      (pixels [new_size, taps] int32, inside the crop; weights [new_size, taps] float32, 0 where
      the tap lies outside the crop, each row summing to 1).
    """
    count = 2 if method == 'linear' else 4
    centres = crop_centres(length, new_size)
    first = jnp.floor(centres) - (count // 2 - 1.0)
    pixels = first[:, None] + jnp.arange(count, dtype=jnp.float32)[None, :]
    weights = kernel(centres[:, None] - pixels, method)
    length = jnp.asarray(length, jnp.float32)
    weights = jnp.where((pixels >= 0.0) & (pixels < length), weights, 0.0)
    pixels = jnp.clip(pixels, 0.0, length - 1.0).astype(jnp.int32)
    return pixels + start, weights / jnp.sum(weights, axis=1, keepdims=True)


def dense_weights(size, start, length, new_size, method):
    """The weight of each of `size` input pixels in each output pixel of a crop along one axis.

    Returns:
      [new_size, size] float32; rows sum to 1 and are 0 outside the crop.
    """
    pixels = jnp.arange(size, dtype=jnp.float32) - jnp.asarray(start, jnp.float32)
    weights = kernel(crop_centres(length, new_size)[:, None] - pixels[None, :], method)
    inside = (pixels >= 0.0) & (pixels < jnp.asarray(length, jnp.float32))
    weights = jnp.where(inside[None, :], weights, 0.0)
    return weights / jnp.sum(weights, axis=1, keepdims=True)


def crop_centres(length, new_size):
    """The centres of the output pixels, in pixels of the crop."""
    length = jnp.asarray(length, jnp.float32)
    return (jnp.arange(new_size, dtype=jnp.float32) + 0.5) * (length / new_size) - 0.5


def kernel(distance, method):
    """The interpolation kernel at a signed distance in pixels."""
    distance = jnp.abs(distance)
    if method == 'linear':
        return jnp.maximum(0.0, 1.0 - distance)
    near = ((1.5 * distance - 2.5) * distance) * distance + 1.0
    far = ((-0.5 * distance + 2.5) * distance - 4.0) * distance + 2.0
    return jnp.where(distance < 1.0, near, jnp.where(distance < 2.0, far, 0.0))
