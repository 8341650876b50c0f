"""The laws of a random box.

TensorFlow's sample_distorted_bounding_box, which SimCLR uses, differs from torchvision's
RandomResizedCrop: the aspect ratio is uniform, then the height is uniform on the feasible integers,
so the area is not uniform.
"""

import math

import jax
import jax.numpy as jnp

from contrastive_jax.views.operations import integer_below

# SimCLR asks each crop to cover this share of the image: crops of less area are drawn again.
LEAST_COVERED = 0.1

# TensorFlow draws up to 100 times, torchvision 10 times, before they take a fixed box.
TENSORFLOW_ATTEMPTS = 100
TORCHVISION_ATTEMPTS = 10


def tensorflow_box(key, height, width, area_range, aspect_range):
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
      aspect_range: least and largest width over height of the box in pixels.

    Returns:
      (top, left, crop height, crop width), int32 scalars.
    """
    # For such ranges at most 1 draw in 6 is refused: 8 draws differ from 100 once in 1e6.
    usual = 0.08 <= area_range[0] <= 0.7 and area_range[1] == 1 and height == width
    usual = usual and aspect_range[0] >= 0.75 and aspect_range[1] <= 4 / 3
    attempts = 8 if usual else TENSORFLOW_ATTEMPTS
    # One call for all numbers: each call of its own costs compile time.
    draws = jax.random.uniform(key, (2 * attempts + 2,))
    aspect_draws, height_draws = draws[:attempts], draws[attempts : 2 * attempts]
    area = height * width
    least, most = area_range[0] * area, area_range[1] * area
    narrowest, widest = aspect_range
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
    return tuple(jnp.stack([top, left, crop_height, crop_width]).astype(jnp.int32))


def torchvision_box(key, height, width, area_range, aspect_range):
    """A random box by torchvision's law, or the largest central one when no draw fits.

    The area is uniform on its range, the logarithm of the aspect ratio on its own, and the offset
    on all places, the last row and column included.

    Args:
      key: a key.
      height: of the image in pixels.
      width: of the image in pixels.
      area_range: least and largest area as shares of the image.
      aspect_range: least and largest width over height of the box in pixels.

    Returns:
      (top, left, crop height, crop width), int32 scalars.
    """
    draws = jax.random.uniform(key, (2 * TORCHVISION_ATTEMPTS + 2,))
    area_draws, aspect_draws = draws[:TORCHVISION_ATTEMPTS], draws[TORCHVISION_ATTEMPTS:-2]
    least, most = (share * height * width for share in area_range)
    area = least + (most - least) * area_draws
    narrowest, widest = (math.log(aspect) for aspect in aspect_range)
    ratio = jnp.exp(narrowest + (widest - narrowest) * aspect_draws)
    crop_height, crop_width = jnp.round(jnp.sqrt(area / ratio)), jnp.round(jnp.sqrt(area * ratio))
    accepted = (
        (crop_height >= 1) & (crop_height <= height) & (crop_width >= 1) & (crop_width <= width)
    )
    first = jnp.argmax(accepted)
    found = accepted[first]
    largest_height = float(min(height, max(1, round(width / aspect_range[0]))))
    largest_width = float(min(width, max(1, round(height * aspect_range[1]))))
    crop_height = jnp.where(found, crop_height[first], largest_height)
    crop_width = jnp.where(found, crop_width[first], largest_width)
    spare = jnp.stack([height - crop_height, width - crop_width])
    offsets = jnp.where(found, integer_below(draws[-2:], spare + 1.0), jnp.floor(spare / 2.0))
    return tuple(jnp.stack([*offsets, crop_height, crop_width]).astype(jnp.int32))
