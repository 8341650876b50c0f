"""Decoding on the host: a whole image at one size, or several random crops of one decode."""

import io
import math

import numpy as np
from PIL import Image

# As in `contrastive_jax.views`: SimCLR asks each crop to cover this share of the image.
LEAST_COVERED = 0.1
ATTEMPTS = 100

MODES = {1: 'L', 3: 'RGB', 4: 'RGBA'}

# The share of the shorter side that a central crop keeps, as in SimCLR's evaluation.
CENTRAL_SHARE = 0.875


def decode(data, shape, fit='stretch'):
    """One encoded image as an array.

    Shrinking is antialiased, unlike TensorFlow's resize: point sampling a photograph at a tenth of
    its size gives noise.

    Args:
      data: the bytes of a JPEG, PNG or other image file.
      shape: (height, width, channels) of the result.
      fit: 'stretch' resizes the whole image bilinearly, whatever its aspect; 'centre' keeps the
        central square of 0.875 of the shorter side and resizes it bicubically.

    Returns:
      uint8 [h, w, c].

    Raises:
      OSError, SyntaxError, ValueError: what Pillow raises for data that are damaged.
    """
    height, width, channels = shape
    with Image.open(io.BytesIO(data)) as image:
        box, method = (0, 0, *image.size), Image.Resampling.BILINEAR
        if fit == 'centre':
            side = CENTRAL_SHARE * min(image.size)
            left, top = ((length - side) / 2 for length in image.size)
            box, method = (left, top, left + side, top + side), Image.Resampling.BICUBIC
        (pixels,) = resize_boxes(image, [box], (height, width), channels, method)
        return pixels


def decode_and_crop(
    data, generator, shape, *, crops=2, area_range=(0.08, 1.0), aspect_range=(3 / 4, 4 / 3)
):
    """Random crops of an image that is decoded once, each resized to one shape.

    The boxes follow `sample_crop_box`. Resizing is bicubic (Keys, a = -0.5) and antialiased where
    it shrinks; a JPEG much larger than needed is decoded at 1/2, 1/4 or 1/8 of its size.

    Args:
      data: the bytes of an image file.
      generator: a NumPy generator.
      shape: (height, width, channels) of each result.
      crops: how many.
      area_range: least and largest area as shares of the image.
      aspect_range: least and largest width over height, relative to that of the result.

    Returns:
      uint8 [crops, h, w, c].

    Raises:
      OSError, SyntaxError, ValueError: what Pillow raises for data that are damaged.

    Source: data_util.py of SimCLR (chen2021), whose resize is not antialiased.
    """
    new_height, new_width, channels = shape
    aspects = tuple(aspect * new_width / new_height for aspect in aspect_range)
    with Image.open(io.BytesIO(data)) as image:
        width, height = image.size
        boxes = []
        for _ in range(crops):
            top, left, crop_height, crop_width = sample_crop_box(
                generator, height, width, area_range, aspects
            )
            boxes.append((left, top, left + crop_width, top + crop_height))
        return resize_boxes(
            image, boxes, (new_height, new_width), channels, Image.Resampling.BICUBIC
        )


def resize_boxes(image, boxes, shape, channels, method):
    """Boxes of one opened, not yet decoded image, each resized to `shape`.

    Args:
      image: a Pillow image.
      boxes: (left, top, right, bottom) each, in pixels of the image at full size.
      shape: (height, width) of each result.
      channels: of the result.
      method: Pillow's resampling.

    Returns:
      uint8 [number of boxes, h, w, c].
    """
    height, width = shape
    full = image.size
    spare = min(
        min((right - left) / width, (bottom - top) / height) for left, top, right, bottom in boxes
    )
    if spare >= 2:
        # Pillow takes the smallest of the sizes that the JPEG's blocks allow for free, not below
        # the size asked for; other formats ignore it.
        image.draft(image.mode, [math.ceil(side / spare) for side in full])
    pixels = image.convert(MODES[channels])
    across, down = (now / was for now, was in zip(pixels.size, full, strict=True))
    results = np.empty((len(boxes), height, width, channels), np.uint8)
    for result, (left, top, right, bottom) in zip(results, boxes, strict=True):
        box = (
            left * across,
            top * down,
            min(right * across, pixels.size[0]),
            min(bottom * down, pixels.size[1]),
        )
        result[:] = np.asarray(pixels.resize((width, height), method, box)).reshape(result.shape)
    return results


def sample_crop_box(generator, height, width, area_range, aspect_range):
    """A random box by TensorFlow's law, or the whole image when no draw is accepted.

    The law of `contrastive_jax.views.boxes.tensorflow_box`, on the host: aspect uniform, then
    height uniform on the integers that fit, areas under a tenth of the image refused, and an offset
    that never touches the last row or column of an image larger than the crop.

    Args:
      generator: a NumPy generator.
      height: of the image in pixels.
      width: of the image in pixels.
      area_range: least and largest area as shares of the image.
      aspect_range: least and largest width over height of the box in pixels.

    Returns:
      (top, left, crop height, crop width), integers.
    """
    area = height * width
    least, most = (share * area for share in area_range)
    box = (height, width)
    for _ in range(ATTEMPTS):
        ratio = generator.uniform(*aspect_range)
        lowest, highest = (round(math.sqrt(bound / ratio)) for bound in (least, most))
        if round(highest * ratio) > width:
            # The largest height whose rounded width still fits.
            highest = math.floor((width + 0.5 - 1e-7) / ratio)
            highest -= round(highest * ratio) > width
        highest = min(highest, height)
        lowest = min(lowest, highest)
        crop_height = lowest + int(generator.integers(highest - lowest + 1))
        # Rounding may leave the area range by a little: one row more or less mends it.
        crop_height += crop_height * round(crop_height * ratio) < least
        crop_height -= crop_height * round(crop_height * ratio) > most
        crop_width = round(crop_height * ratio)
        crop_area = crop_height * crop_width
        if (
            max(least, LEAST_COVERED * area) <= crop_area <= most
            and 0 < crop_height <= height
            and 0 < crop_width <= width
        ):
            box = (crop_height, crop_width)
            break
    top, left = (
        int(generator.integers(max(whole - part, 1)))
        for whole, part in zip((height, width), box, strict=True)
    )
    return (top, left, *box)
