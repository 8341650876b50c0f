"""Views: (key, image) -> image, on the device. What `config.views.name` may say.

Images are float32 [h, w, c]. The functions take one image; the train step maps them over a batch.
Crops follow the sampling law of TensorFlow's sample_distorted_bounding_box, which SimCLR uses and
which differs from torchvision's: the aspect ratio is uniform, then the height is uniform on the
feasible integers, so the area is not uniform.
"""

import jax
import jax.numpy as jnp

__all__ = ['crop_and_flip', 'crop_only', 'none']

# SimCLR asks each crop to cover this share of the image: crops of less area are drawn again.
LEAST_COVERED = 0.1

# TensorFlow draws up to 100 times, then takes the whole image.
ATTEMPTS = 100


def none(key, image):
    """The image itself, unchanged: the view for evaluation and for loss-only studies."""
    del key
    return image


def crop_only(key, image, *, area_range=(0.08, 1.0), aspect_range=(3 / 4, 4 / 3), method='cubic'):
    """A random crop, resized to the shape of the image, clipped to [0, 1].

    The options are those of `random_resized_crop`; the defaults are SimCLR's.
    """
    image = random_resized_crop(
        key, image, area_range=area_range, aspect_range=aspect_range, method=method
    )
    return jnp.clip(image, 0.0, 1.0)


def crop_and_flip(
    key, image, *, area_range=(0.08, 1.0), aspect_range=(3 / 4, 4 / 3), method='cubic'
):
    """`crop_only`, then mirrored with probability 1/2."""
    crop_key, flip_key = jax.random.split(key)
    image = crop_only(
        crop_key, image, area_range=area_range, aspect_range=aspect_range, method=method
    )
    return random_flip(flip_key, image)


def random_flip(key, image):
    """The image mirrored left to right with probability 1/2."""
    return jnp.where(jax.random.bernoulli(key), image[:, ::-1], image)


def random_resized_crop(key, image, *, area_range, aspect_range, method):
    """A random box of the image, resized to the image's shape without antialiasing.

    Args:
      key: a key.
      image: [h, w, c] float32.
      area_range: least and largest area as shares of the image, in (0, 1]. Boxes under a tenth of
        the image are drawn again, so the effective least area is max(area_range[0], 0.1).
      aspect_range: least and largest width over height, relative to that of the image.
      method: 'linear' or 'cubic' (Keys, a = -0.5).

    Returns:
      [h, w, c] float32. Cubic interpolation may leave the range of the image a little; as in
      SimCLR, the view clips after its last augmentation, not here.

    Raises:
      ValueError: a range outside its bounds, or an unknown method.
    """
    check_crop(area_range, aspect_range, method)
    height, width, _ = image.shape
    box = sample_crop_box(key, height, width, area_range, aspect_range)
    return crop_and_resize(image, box, (height, width), method)


def check_crop(area_range, aspect_range, method):
    """Raises ValueError unless the options of a crop make sense."""
    if len(area_range) != 2 or not 0 < area_range[0] <= area_range[1] <= 1:
        raise ValueError(f'area_range is {area_range}, not two rising numbers in (0, 1].')
    if area_range[1] < LEAST_COVERED:
        raise ValueError(
            f'area_range is {area_range}; boxes under {LEAST_COVERED} of the image are refused, so '
            'the largest area must be at least that.'
        )
    if len(aspect_range) != 2 or not 0 < aspect_range[0] <= aspect_range[1]:
        raise ValueError(f'aspect_range is {aspect_range}, not two rising positive numbers.')
    if method not in ('linear', 'cubic'):
        raise ValueError(f"method is {method!r}, not one of: 'linear', 'cubic'.")


def sample_crop_box(key, height, width, area_range, aspect_range):
    """A random box by TensorFlow's law, or the whole image when no draw is accepted.

    The aspect ratio is uniform on its range, then the height is uniform on the integers between
    round(sqrt(least area / aspect)) and the largest that fits. The offset is uniform on
    0..(side - crop - 1), so that a crop smaller than the image never touches the last row or
    column: that is TensorFlow's behaviour, kept.

    Args:
      key: a key.
      height: of the image in pixels.
      width: of the image in pixels.
      area_range: least and largest area as shares of the image.
      aspect_range: least and largest width over height, relative to that of the image.

    Returns:
      (top, left, crop height, crop width), int32 scalars.
    """
    # At most 1 draw in 8 is refused for such ranges: 8 draws differ from 100 once in 1e7.
    attempts = 8 if area_range[0] >= 0.05 and area_range[1] >= 0.5 else ATTEMPTS
    # One call for all numbers: each call of its own costs compile time.
    draws = jax.random.uniform(key, (2 * attempts + 2,))
    aspect_draws, height_draws = draws[:attempts], draws[attempts : 2 * attempts]
    area = height * width
    least, most = area_range[0] * area, area_range[1] * area
    narrowest, widest = (aspect * width / height for aspect in aspect_range)
    ratio = narrowest + (widest - narrowest) * aspect_draws
    lowest = jnp.round(jnp.sqrt(least / ratio))
    highest = jnp.round(jnp.sqrt(most / ratio))
    # The largest height whose rounded width still fits.
    fitting = jnp.floor((width + 0.5 - 1e-7) / ratio)
    fitting = jnp.where(jnp.round(fitting * ratio) > width, fitting - 1.0, fitting)
    highest = jnp.minimum(jnp.where(jnp.round(highest * ratio) > width, fitting, highest), height)
    lowest = jnp.minimum(lowest, highest)
    crop_height = lowest + integer_below(height_draws, highest - lowest + 1.0)
    # Rounding may leave the area range by a little: TensorFlow then tries one row more or less.
    crop_height += (crop_height * jnp.round(crop_height * ratio) < least).astype(jnp.float32)
    crop_height -= (crop_height * jnp.round(crop_height * ratio) > most).astype(jnp.float32)
    crop_width = jnp.round(crop_height * ratio)
    crop_area = crop_height * crop_width
    accepted = (
        (crop_area >= max(least, LEAST_COVERED * area))
        & (crop_area <= most)
        & (crop_height <= height)
        & (crop_width <= width)
    )
    first = jnp.argmax(accepted)
    found = accepted[first]
    crop_height = jnp.where(found, crop_height[first], float(height))
    crop_width = jnp.where(found, crop_width[first], float(width))
    top = integer_below(draws[-2], jnp.maximum(height - crop_height, 1.0))
    left = integer_below(draws[-1], jnp.maximum(width - crop_width, 1.0))
    box = jnp.stack([top, left, crop_height, crop_width]).astype(jnp.int32)
    return tuple(box)


def integer_below(draws, bound):
    """Uniform draws from [0, 1) as integers 0..bound-1, as floats."""
    # The product rounds up to the bound itself for the largest draws.
    return jnp.minimum(jnp.floor(draws * bound), bound - 1.0)


def crop_and_resize(image, box, shape, method):
    """A box of an image resized to `shape`; pixels outside the box never contribute.

    Equal to `jax.image.resize(image[top:top+h, left:left+w], ..., antialias=False)`, with a box
    that may be traced: one matrix product along each axis.

    Args:
      image: [h, w, c] float32.
      box: (top, left, crop height, crop width), integers, traced or not.
      shape: (height, width) of the result.
      method: 'linear' or 'cubic'.

    Returns:
      [height, width, c] float32.
    """
    top, left, crop_height, crop_width = box
    rows = resize_weights(image.shape[0], top, crop_height, shape[0], method)
    columns = resize_weights(image.shape[1], left, crop_width, shape[1], method)
    return jnp.einsum('yh,hwc,xw->yxc', rows, image, columns, precision=jax.lax.Precision.HIGHEST)


def resize_weights(size, start, length, new_size, method):
    """The weight of each input pixel in each output pixel of a crop along one axis.

    Args:
      size: number of input pixels.
      start: first pixel of the crop.
      length: number of pixels of the crop.
      new_size: number of output pixels.
      method: 'linear' or 'cubic'.

    Returns:
      [new_size, size] float32; rows sum to 1 and are 0 outside the crop.
    """
    length = jnp.asarray(length, jnp.float32)
    # Half-pixel centres, in pixels of the crop.
    centres = (jnp.arange(new_size, dtype=jnp.float32) + 0.5) * (length / new_size) - 0.5
    pixels = jnp.arange(size, dtype=jnp.float32) - jnp.asarray(start, jnp.float32)
    distance = jnp.abs(centres[:, None] - pixels[None, :])
    if method == 'linear':
        weights = jnp.maximum(0.0, 1.0 - distance)
    else:
        near = ((1.5 * distance - 2.5) * distance) * distance + 1.0
        far = ((-0.5 * distance + 2.5) * distance - 4.0) * distance + 2.0
        weights = jnp.where(distance < 1.0, near, jnp.where(distance < 2.0, far, 0.0))
    inside = (pixels >= 0.0) & (pixels < length)
    weights = jnp.where(inside[None, :], weights, 0.0)
    return weights / jnp.sum(weights, axis=1, keepdims=True)
