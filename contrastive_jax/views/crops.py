"""Crops: a random box by one of two laws or made on the host, and the central box."""

import jax
import jax.numpy as jnp

from contrastive_jax.views.boxes import LEAST_COVERED, tensorflow_box, torchvision_box
from contrastive_jax.views.operations import (
    Operation,
    check_number,
    check_probability,
    check_range,
    deterministic,
)
from contrastive_jax.views.resize import METHODS, crop_and_resize

LAWS = {'tensorflow': tensorflow_box, 'torchvision': torchvision_box}

# The law that leaves the crop to the host, which makes it of the encoded image.
HOST = 'host'

BOX = ('crop_top', 'crop_left', 'crop_height', 'crop_width')


def random_resized_crop(
    *,
    area_range=(0.08, 1.0),
    aspect_range=(3 / 4, 4 / 3),
    method='cubic',
    law='tensorflow',
    size=None,
    probability=1.0,
):
    """The operation that resizes a random box of the image, without antialiasing.

    Args:
      area_range: least and largest area as shares of the image, in (0, 1]. By TensorFlow's law,
        which is also the host's, boxes under a tenth of the image are drawn again: the least is
        max(area_range[0], 0.1).
      aspect_range: least and largest width over height; by TensorFlow's law, and on the host,
        relative to that of the result, by torchvision's in pixels.
      method: 'linear' or 'cubic'. Cubic interpolation may leave [0, 1] a little: clip after the
        last operation that should see it.
      law: 'tensorflow' or 'torchvision', the law of the box: see `boxes.py`. Or 'host': the image
        is such a crop already and is taken as it is; a run then crops with these ranges on the
        host, where `method` has no say (see `contrastive_jax.data.sources.host_crops`).
      size: side of the square result in pixels; None keeps the image's height and width.
      probability: that the box is random; else it is the whole image.

    Returns:
      An operation with the parameters `crop_top`, `crop_left`, `crop_height`, `crop_width`; none
      by the law 'host', which draws nothing.

    Raises:
      ValueError: an option outside its bounds, or an unknown name.

    Source: Chen et al. 2020 (SimCLR), appendix A, and its code.
    """
    check_crop(area_range, aspect_range, method, law, size)
    check_probability('crop_probability', probability)
    if law == HOST:
        if size is not None or probability < 1:
            raise ValueError(
                f"law is 'host' with size {size} and crop_probability {probability}: the host "
                'always crops, to the size of the source, so they must be None and 1.'
            )
        return deterministic(lambda image: image)

    def sample(key, shape):
        height, width, _ = shape
        new_height, new_width = result_shape(shape, size)
        # Torchvision's ratio is that of the box in pixels, whatever the result.
        of_result = 1.0 if law == 'torchvision' else new_width / new_height
        aspects = tuple(aspect * of_result for aspect in aspect_range)
        box_key, whole_key = (key, None) if probability == 1 else jax.random.split(key)
        box = LAWS[law](box_key, height, width, area_range, aspects)
        if probability < 1:
            random = jax.random.bernoulli(whole_key, probability)
            whole = jnp.array([0, 0, height, width], jnp.int32)
            box = jnp.where(random, jnp.stack(box), whole)
        return dict(zip(BOX, box, strict=True))

    def apply(image, parameters):
        box = tuple(parameters[name] for name in BOX)
        return crop_and_resize(image, box, result_shape(image.shape, size), method)

    def rest(image):
        shape = result_shape(image.shape, size)
        whole = (0, 0, *image.shape[:2])
        return image if size is None else crop_and_resize(image, whole, shape, method)

    return Operation(apply=apply, sample=sample, rest=rest)


def central_crop(*, share=0.875, size=None):
    """The operation that resizes the central box of the image, bicubic.

    Args:
      share: of the limiting side that the box keeps, in [0.001, 1].
      size: side of the square result in pixels; None keeps the image's height and width.

    Returns:
      An operation that draws nothing. The box has the aspect of the result; one pixel at least.

    Raises:
      ValueError: an option outside its bounds.

    Source: SimCLR's evaluation on images over 32 pixels (Chen et al. 2020).
    """
    check_size(size)
    check_number('share', share, 1e-3, 1)

    def crop(image):
        height, width, _ = image.shape
        new_shape = result_shape(image.shape, size)
        aspect = new_shape[1] / new_shape[0]
        limiting = min(height, width / aspect)
        crop_height = max(1, round(share * limiting))
        crop_width = max(1, round(share * limiting * aspect))
        offsets = ((height - crop_height + 1) // 2, (width - crop_width + 1) // 2)
        return crop_and_resize(image, (*offsets, crop_height, crop_width), new_shape, 'cubic')

    return deterministic(crop)


def result_shape(shape, size):
    """(height, width) of the result of a crop."""
    return tuple(shape[:2]) if size is None else (size, size)


def check_crop(area_range, aspect_range, method, law, size):
    """Raises ValueError unless the options of a crop make sense."""
    check_range('area_range', area_range, most=1)
    check_range('aspect_range', aspect_range)
    if law not in (*LAWS, HOST):
        raise ValueError(f'law is {law!r}, not one of: {", ".join(map(repr, (*LAWS, HOST)))}.')
    if law != 'torchvision' and area_range[1] < LEAST_COVERED:
        raise ValueError(
            f'area_range is {area_range}; boxes under {LEAST_COVERED} of the image are refused, so '
            'the largest area must be at least that.'
        )
    if method not in METHODS:
        raise ValueError(f'method is {method!r}, not one of: {", ".join(map(repr, METHODS))}.')
    check_size(size)


def check_size(size):
    """Raises ValueError unless `size` is None or a whole number of pixels."""
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise ValueError(f'size is {size!r}, not None or a whole number of pixels from 1.')
