"""Sources without data: uniform noise, and examples that are nothing but an id."""

import numpy as np

from contrastive_jax.data.sources.arrays import check_fits, check_option, unlabelled
from contrastive_jax.errors import BadInput

SEEDS = {'train': 0, 'test': 1}


def noise(argument, split, data_dir, *, size=32, channels=3):
    """'noise:10000,size=32,channels=3': unlabelled images of independent uniform bytes.

    An image is a function of split, id and shape: 'noise:100' begins 'noise:10000'.
    """
    del data_dir
    count = count_of('noise', argument)
    check_option('size', size, 1)
    check_option('channels', channels, 1)
    shape = (count, size, size, channels)
    check_fits(count, shape[1:], f'noise:{argument}')
    # Every image takes whole 32-bit words of the stream, so that the count changes no image.
    words = -(-size * size * channels // 4)
    stream = np.random.Generator(np.random.Philox(SEEDS[split]))
    drawn = stream.integers(0, 2**32, (count, words), np.uint32).astype('<u4', copy=False)
    images = drawn.view(np.uint8)[:, : size * size * channels].reshape(shape)
    return unlabelled(images, f'noise/{split}')


def synthetic(argument, split, data_dir):
    """'synthetic:10000': as many ids, for data sets that compose from nothing.

    The images are one black pixel, unlabelled.
    """
    del data_dir
    images = np.broadcast_to(np.uint8(0), (count_of('synthetic', argument), 1, 1, 1))
    return unlabelled(images, f'synthetic/{split}')


def count_of(kind, argument):
    """The argument as a number of examples."""
    if not argument.isdecimal() or not 1 <= int(argument) < 2**31:
        raise BadInput(
            f"config.data.source is '{kind}:{argument}'; after the colon stands the number of "
            f"examples, at least 1, as in '{kind}:10000'."
        )
    return int(argument)
