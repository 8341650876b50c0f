"""DigitOnImageNet: nine copies of one digit on a natural image."""

import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax.data.probing.canvas import lay, resized
from contrastive_jax.data.probing.dataset import ProbingDataset
from contrastive_jax.data.probing.entropy import entropy_bits
from contrastive_jax.data.probing.plain import label_of, to_float
from contrastive_jax.data.probing.regions import box_regions
from contrastive_jax.errors import BadInput

# Upper left corners of the copies, as fractions of the host's sides: 33, 100 and 168 of 224.
FRACTIONS = (0.15, 0.45, 0.75)
SMALLEST_HOST = 112
BLENDS = ('maximum', 'sum')


def digit_on_image(
    source, *, digits, num_unique=None, blend='maximum', fresh=False, balanced=False, split='train'
):
    """Lays nine copies of a digit on every image: two features that compete.

    The digit is one of the first `num_unique` of its source, uniform and independent of the image;
    both views share it, and augmentation moves it with the image. Digits keep their size; hosts of
    less than 112 pixels a side are enlarged to 112 first (bilinear).

    Args:
      source: host images, grey or RGB; the paper's are ImageNet's.
      digits: source of the digits, in memory, with labels. In a config, its name.
      num_unique: N, how many different digits; None takes all. The information shared through
        them is log2 N bits. In the test split it is always all of them, as in the paper.
      blend: 'maximum' of digit and image (the notebook's), or 'sum', clipped at 1 (the paper's).
      fresh: whether the digit is drawn anew at every visit (the notebook's) or is a function of
        seed, split and id (the paper's).
      balanced: whether the N are taken in turn from the classes, not as they come. As they come,
        few of them may leave classes out: the first 16 have 9 classes in MNIST's own order, 6 in
        that of TFDS, and 1 in the embedded digits, which lie class after class.
      split: 'train' or 'test', of source and digits.

    Returns:
      A `ProbingDataset` with the factors `label` (of the host, where it has labels), `digit` (its
      class) and `digit_index`, 0..N-1. It measures `digit_classes`, the number of classes among the
      N, and `digit_index_bits`, the entropy of the draws. Its `regions` are 1 on the squares of the
      nine copies, which are one and the same digit.

    Raises:
      BadInput: N outside 1..len(digits), digits without labels or too large for the places, an
        unknown blend.

    Source: Chen 2021, section 4.2 and its public notebook; the places are the notebook's.
    """
    count = len(digits) if num_unique is None or split == 'test' else num_unique
    height, width, channels = source.image_shape
    height, width = max(height, SMALLEST_HOST), max(width, SMALLEST_HOST)
    rows, columns = ([int(side * f) for f in FRACTIONS] for side in (height, width))
    _check(source, digits, count, blend, min(rows[1] - rows[0], columns[1] - columns[0]))
    places = jnp.asarray([(row, column) for row in rows for column in columns], jnp.int32)
    ids = _balanced_order(digits.labels)[:count] if balanced else np.arange(count)
    chosen = digits.take(ids)

    def draw(key):
        return jax.random.randint(key, (), 0, count, jnp.int32)

    def compose(draws, example, tables):
        index = draw(draws.visit if fresh else draws.example)
        host = resized(to_float(example['image']), (height, width))
        digit = to_float(tables['digits'][index])
        digit = jnp.broadcast_to(digit, (*digit.shape[:2], channels))
        copies = jnp.broadcast_to(digit, (len(places), *digit.shape))
        if blend == 'maximum':
            image = lay(host, copies, places)
        else:
            image = jnp.minimum(host + lay(jnp.zeros_like(host), copies, places), 1.0)
        return {
            'image': image,
            'channels': jnp.zeros(0),
            'label': example['label'],
            'digit': tables['digit_labels'][index],
            'digit_index': index,
        }

    def measure(keys):
        return {
            'digit_classes': float(len(np.unique(chosen['label']))),
            'digit_index_bits': entropy_bits(jax.jit(jax.vmap(draw))(keys)),
        }

    def regions(factors):
        sides = [digits.image_shape[0]] * len(places)
        squares = box_regions(np.asarray(places)[None], sides, (height, width)) > 0
        return np.repeat(squares.astype(np.int32), len(factors['digit_index']), axis=0)

    factors = {**label_of(source), 'digit': digits.num_classes, 'digit_index': count}
    tables = {'digits': chosen['image'], 'digit_labels': chosen['label']}
    return ProbingDataset(source, factors, compose, measure, tables, regions=regions)


def _balanced_order(labels):
    """Ids in the order: the first of each class, the second of each class, and so on."""
    occurrence = np.zeros(len(labels), int)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        occurrence[members] = np.arange(len(members))
    return np.argsort(occurrence, kind='stable')


def _check(source, digits, count, blend, room):
    if blend not in BLENDS:
        raise BadInput(f'config.data.blend is {blend!r}, not one of: {BLENDS}.')
    if not digits.num_classes:
        raise BadInput(f'config.data.digits is {digits.name}, whose images have no labels.')
    if not 1 <= count <= len(digits):
        raise BadInput(
            f'config.data.num_unique is {count}; {digits.name} has {len(digits)} digits, so valid '
            f'numbers are 1 to {len(digits)}.'
        )
    sides, channels = digits.image_shape[:2], digits.image_shape[2]
    if sides[0] != sides[1] or sides[0] > min(room, 28):
        raise BadInput(
            f'config.data.digits is {digits.name} with images of {sides}; they must be square and '
            f'of at most {min(room, 28)} pixels, so that nine copies have room.'
        )
    if channels not in (1, source.image_shape[2]):
        raise BadInput(
            f'config.data.digits is {digits.name} with {channels} channels; they must be grey or '
            f'have the {source.image_shape[2]} channels of {source.name}.'
        )
