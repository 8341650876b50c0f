"""Crops of the colour photographs that packages ship: natural images without a download."""

import importlib.util
from pathlib import Path

import numpy as np
from PIL import Image

from contrastive_jax.data.sources.arrays import ArraySource, check_fits, check_option
from contrastive_jax.errors import BadInput

# A photograph's package, folder and file. Its place in this list is its class: append, never
# reorder.
PHOTOGRAPHS = (
    ('sklearn', 'datasets/images/china.jpg'),
    ('sklearn', 'datasets/images/flower.jpg'),
    ('skimage', 'data/astronaut.png'),
    ('skimage', 'data/chelsea.png'),
    ('skimage', 'data/coffee.png'),
    ('skimage', 'data/hubble_deep_field.jpg'),
    ('skimage', 'data/ihc.png'),
    ('skimage', 'data/motorcycle_left.png'),
    ('skimage', 'data/retina.jpg'),
    ('skimage', 'data/rocket.jpg'),
)

# Shares of the width: train crops lie left of the first, test crops right of the second.
TRAIN_ENDS, TEST_BEGINS = 0.7, 0.75

# The shorter side every photograph is shrunk to first, so that a crop shows more than a texture.
SHORTER_SIDE = 256


def photographs(argument, split, data_dir, *, size=32, count=1000):
    """'photographs,size=32,count=1000': random crops of ten photographs; class = photograph.

    Each photograph is shrunk to 256 pixels on its shorter side. Train crops lie in its left 70 %
    and test crops in its right 25 %, so that no pixel is in both. The boxes are uniform squares of
    `size` to 2 x `size` pixels (as far as they fit), shrunk to `size`.

    Args:
      argument: not used.
      split: 'train' or 'test'.
      data_dir: not used.
      size: of the crops, up to 64: what fits in the test part of the narrowest photograph.
      count: crops of each photograph, a fifth of it in the test split.

    Returns:
      An `ArraySource` of 10 classes, class after class.
    """
    del argument, data_dir
    check_option('size', size, 1, 64)
    check_option('count', count, 5)
    number = count if split == 'train' else count // 5
    check_fits(number * len(PHOTOGRAPHS), (size, size, 3), 'photographs')
    images = np.empty((len(PHOTOGRAPHS), number, size, size, 3), np.uint8)
    for which, (package, path) in enumerate(PHOTOGRAPHS):
        with Image.open(package_file(package, path)) as photograph:
            part = part_of(shrink(photograph.convert('RGB')), split)
        # Train and test, and every photograph, draw from streams of their own.
        generator = np.random.default_rng([which, split == 'test'])
        for crop in range(number):
            images[which, crop] = random_crop(part, generator, size)
    labels = np.repeat(np.arange(len(PHOTOGRAPHS), dtype=np.int32), number)
    flat = images.reshape(-1, size, size, 3)
    return ArraySource(flat, labels, len(PHOTOGRAPHS), f'photographs/{split}')


def package_file(package, path):
    """The path of a file of an installed package, which is found but not imported."""
    found = importlib.util.find_spec(package)
    file = found and Path(found.submodule_search_locations[0], path)
    if not file or not file.is_file():
        # All or nothing: the same name must be the same data on every machine.
        raise BadInput(
            "config.data.source is 'photographs', which needs the pictures that scikit-image "
            f'ships ({package}/{path} is not there). Install them with: '
            'pip install -e ".[photographs]"'
        )
    return file


def shrink(photograph):
    """The photograph with `SHORTER_SIDE` pixels on its shorter side."""
    scale = SHORTER_SIDE / min(photograph.size)
    shape = [round(side * scale) for side in photograph.size]
    return photograph.resize(shape, Image.Resampling.BICUBIC)


def part_of(photograph, split):
    """The region that train or test crops are taken from."""
    width, height = photograph.size
    if split == 'train':
        return photograph.crop((0, 0, int(width * TRAIN_ENDS), height))
    return photograph.crop((int(width * TEST_BEGINS), 0, width, height))


def random_crop(part, generator, size):
    """A uniform square of the part, `size` to 2 x `size` pixels wide, shrunk to `size`."""
    width, height = part.size
    side = int(generator.integers(size, min(2 * size, width, height) + 1))
    left = int(generator.integers(0, width - side + 1))
    top = int(generator.integers(0, height - side + 1))
    box = (left, top, left + side, top + side)
    return np.asarray(part.resize((size, size), Image.Resampling.BILINEAR, box))
