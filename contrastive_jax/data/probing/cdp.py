"""CDP: digits with a colour and a position, before natural images."""

import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax.data.probing.canvas import lay, pixel_centres, sampled
from contrastive_jax.data.probing.dataset import ProbingDataset
from contrastive_jax.data.probing.entropy import entropy_bits
from contrastive_jax.data.probing.plain import to_float
from contrastive_jax.data.probing.regions import box_regions
from contrastive_jax.data.probing.tables import table_of
from contrastive_jax.errors import BadInput

COLOURS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 1.0, 1.0))
DIGITS = (2, 3, 4, 5)


def cdp(source, *, backgrounds=None, mix=0.3, size=64):
    """Draws colour, digit and position, each 4-way, uniform and independent: 2 bits each.

    The digit has one of four colours (red, green, blue, white), one of four classes (2, 3, 4, 5)
    and lies in the middle of one of four quadrants (row by row). With backgrounds the image is

      (1 - mix) digit + mix background,

    a random square of a random background image, resized, drawn anew for each side of a pair, so
    that it adds nothing that the views share. Pairs that share only some of the attributes are
    `config.data.pairing=('colour', 'digit')`: the other attributes then differ as they come.

    Args:
      source: digits with labels, grey, in memory. An example takes its id from it; the picture of
        its digit is drawn from all those of the drawn class.
      backgrounds: source of grey or RGB images, in memory, or None for black. In a config, its
        name.
      mix: weight of the background in [0, 1).
      size: side of the image in pixels, even.

    Returns:
      A `ProbingDataset` with the factors `colour`, `digit` (0..3 for 2..5), `position`, and
      `attributes`, all three (64 values). It measures the entropy of each in bits, nominally 2, 2,
      2 and 6. Its `regions` are 1 on the square of the digit.

    Raises:
      BadInput: digits that are not there, not grey, or larger than a quadrant; a mix outside
        [0, 1); backgrounds of other than 1 or 3 channels; a source that is not in memory.

    Source: Lee 2023, Sec. 3-B and Fig. 2. Sizes and mix are not in the paper.
    """
    _check(source, backgrounds, mix, size)
    members = [np.flatnonzero(source.labels == digit) for digit in DIGITS]
    counts = np.asarray([len(ids) for ids in members], np.int32)
    starts = np.cumsum(counts, dtype=np.int32) - counts
    side = source.image_shape[0]
    tables = {'digits': table_of(source, 'source')['images'][np.concatenate(members)]}
    if backgrounds is not None:
        tables['backgrounds'] = table_of(backgrounds, 'backgrounds')['images']

    def draw(key):
        return jax.random.randint(key, (3,), 0, 4, jnp.int32)

    def compose(draws, example, tables):
        del example  # its key says everything
        attribute_key, picture_key = jax.random.split(draws.example)
        colour, digit, position = draw(attribute_key)
        within = jax.random.randint(picture_key, (), 0, jnp.asarray(counts)[digit], jnp.int32)
        picture = to_float(tables['digits'][jnp.asarray(starts)[digit] + within])
        tinted = picture * jnp.asarray(COLOURS)[colour].reshape(1, 1, 3)
        margin = (size // 2 - side) // 2
        place = jnp.stack([position // 2, position % 2]) * (size // 2) + margin
        image = lay(jnp.zeros((size, size, 3)), tinted[None], place[None])
        if backgrounds is not None:
            image = (1 - mix) * image + mix * random_square(draws.side, tables['backgrounds'], size)
        return {
            'image': image,
            'channels': jnp.zeros(0),
            'colour': colour,
            'digit': digit,
            'position': position,
            'attributes': (colour * 4 + digit) * 4 + position,
        }

    def measure(keys):
        drawn = jax.jit(jax.vmap(lambda key: draw(jax.random.split(key)[0])))(keys)
        colour, digit, position = np.asarray(drawn).T
        together = (colour * 4 + digit) * 4 + position
        columns = (colour, digit, position, together)
        return {
            f'{name}_bits': entropy_bits(column)
            for name, column in zip(factors, columns, strict=True)
        }

    def regions(factors):
        position = np.asarray(factors['position'])
        places = np.stack([position // 2, position % 2], axis=-1)[:, None]
        margin = (size // 2 - side) // 2
        return box_regions(places * (size // 2) + margin, [side], (size, size))

    factors = {'colour': 4, 'digit': 4, 'position': 4, 'attributes': 64}
    sides_differ = backgrounds is not None
    return ProbingDataset(source, factors, compose, measure, tables, sides_differ, regions)


def random_square(key, pictures, size):
    """A random square of a random picture, resized to `size`.

    Its side is uniform on half to all of the longest possible one, which is the shorter side of
    the pictures or 2 * size, so that a square is never shrunk to less than half.

    Args:
      key: a key.
      pictures: uint8 [n, h, w, 1 or 3].
      size: height and width of the result.

    Returns:
      float32 [size, size, 3] in [0, 1].
    """
    which, side_key, corner_key = jax.random.split(key, 3)
    count, height, width, channels = pictures.shape
    longest = min(height, width, 2 * size)
    side = jax.random.randint(side_key, (), (longest + 1) // 2, longest + 1, jnp.int32)
    room = jnp.asarray([height, width], jnp.int32) - side
    corner = jax.random.randint(corner_key, (2,), 0, room + 1, jnp.int32).astype(jnp.float32)
    rows, columns = (pixel_centres(start, side, size) for start in corner)
    picture = to_float(pictures[jax.random.randint(which, (), 0, count, jnp.int32)])
    return jnp.broadcast_to(sampled(picture, rows, columns), (size, size, 3))


def _check(source, backgrounds, mix, size):
    missing = [digit for digit in DIGITS if not np.any(source.labels == digit)]
    if missing:
        raise BadInput(
            f'config.data.source is {source.name}, which has no images of class {missing[0]}; cdp '
            f'needs the digits {DIGITS}.'
        )
    height, width, channels = source.image_shape
    if channels != 1 or height != width:
        raise BadInput(
            f'config.data.source is {source.name} with images of {source.image_shape}; cdp needs '
            'square grey digits.'
        )
    if size % 2 or size < 2 * height:
        raise BadInput(
            f'config.data.size is {size}; it must be even and at least {2 * height}, so that a '
            'digit fits a quadrant.'
        )
    if not 0 <= mix < 1:
        raise BadInput(f'config.data.mix is {mix}, outside [0, 1).')
    if backgrounds is not None and backgrounds.image_shape[2] not in (1, 3):
        raise BadInput(
            f'config.data.backgrounds is {backgrounds.name} with images of '
            f'{backgrounds.image_shape}; they must have 1 or 3 channels.'
        )
