"""MultiDigits: several digits on one canvas."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax.data.probing.canvas import lay, resized
from contrastive_jax.data.probing.dataset import ProbingDataset, evaluation_draws
from contrastive_jax.data.probing.entropy import entropy_bits
from contrastive_jax.data.probing.plain import to_float
from contrastive_jax.data.probing.regions import box_regions
from contrastive_jax.data.probing.tables import table_of
from contrastive_jax.errors import BadInput

PLACEMENTS = ('random', 'grid')


def multidigits(source, *, num_digits, sizes=(28,), canvas=112, placement='random', fresh=False):
    """Lays digits on a black canvas; where they overlap, the brighter pixel counts.

    The first digit is the example's own image; the others are drawn from the source, independently
    and with replacement. Each lies whole on the canvas: anywhere, or in the middle of a cell of a
    grid, no two in one cell.

    Args:
      source: images with labels, in memory: MNIST or the embedded digits.
      num_digits: n >= 1; the paper has 1 to 16. With 1 it makes the canvases of evaluation.
      sizes: side of the digits in pixels, one for all or one for each. (20, 60) with two digits
        is the data of Table 4.
      canvas: side of the canvas in pixels.
      placement: 'random', or 'grid': cells as large as the largest digit.
      fresh: whether the other digits and all places are drawn anew at every visit of the example;
        otherwise they are a function of seed, split and id.

    Returns:
      A `ProbingDataset` with the factors `label` (of the first digit), `label_<j>` of the j-th,
      `top_<j>` and `left_<j>`, its place in pixels (j from 1), and `present_<class>`, 0 or 1.
      It measures `top_1_bits`, `left_1_bits` and, where there is a second digit, `label_2_bits`:
      the entropies of what the examples drew. Its `regions` are j on the square of the j-th
      digit; where two overlap it is the smaller one, or the later of two equal ones.

    Raises:
      BadInput: a source without labels or not in memory, a digit larger than the canvas, more
        digits than cells, or sizes of another number.

    Source: Chen 2021, section 3.1, Tables 3 and 4. The paper leaves open how digits overlap and
    how they are drawn.
    """
    sizes = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    _check(source, num_digits, sizes, canvas, placement)
    sizes = sizes * num_digits if len(sizes) == 1 else sizes
    count, classes = len(source), source.num_classes
    cells = canvas // max(sizes)  # along each side

    def corners(key):
        if placement == 'random':
            largest = jnp.asarray([canvas - size for size in sizes])[:, None]
            return jax.random.randint(key, (num_digits, 2), 0, largest + 1, jnp.int32)
        cell = jax.random.permutation(key, cells**2)[:num_digits].astype(jnp.int32)
        margin = jnp.asarray([(canvas // cells - size) // 2 for size in sizes], jnp.int32)
        place = jnp.stack([cell // cells, cell % cells], axis=1) * (canvas // cells)
        return place + margin[:, None]

    def draw(draws):
        """The positions of the other digits in the source, and the places of all."""
        others_key, place_key = jax.random.split(draws.visit if fresh else draws.example)
        others = jax.random.randint(others_key, (num_digits - 1,), 0, count, jnp.int32)
        return others, corners(place_key)

    def compose(draws, example, tables):
        others, places = draw(draws)
        pictures = jnp.concatenate([example['image'][None], tables['images'][others]])
        labels = jnp.concatenate([example['label'][None], tables['labels'][others]])
        image = jnp.zeros((canvas, canvas, pictures.shape[-1]))
        for size in sorted(set(sizes)):
            chosen = np.flatnonzero(np.asarray(sizes) == size)
            resize = functools.partial(resized, shape=(size, size))
            image = lay(image, jax.vmap(resize)(to_float(pictures[chosen])), places[chosen])
        factors = {'label': labels[0]}
        for j in range(num_digits):
            factors |= {f'top_{j + 1}': places[j, 0], f'left_{j + 1}': places[j, 1]}
            factors[f'label_{j + 1}'] = labels[j]
        for number in range(classes):
            factors[f'present_{number}'] = jnp.any(labels == number).astype(jnp.int32)
        return {'image': image, 'channels': jnp.zeros(0), **factors}

    factors = {'label': classes}
    for j, size in enumerate(sizes, 1):
        factors |= {f'label_{j}': classes}
        factors |= {f'top_{j}': canvas - size + 1, f'left_{j}': canvas - size + 1}
    factors |= {f'present_{number}': 2 for number in range(classes)}

    def measure(keys):
        others, places = jax.jit(jax.vmap(lambda key: draw(evaluation_draws(key))))(keys)
        drawn = {'top_1': places[:, 0, 0], 'left_1': places[:, 0, 1]}
        if num_digits > 1:
            drawn['label_2'] = source.labels[np.asarray(others[:, 0])]
        return {f'{name}_bits': entropy_bits(values) for name, values in drawn.items()}

    def regions(factors):
        numbers = range(1, num_digits + 1)
        places = [[factors[f'top_{j}'], factors[f'left_{j}']] for j in numbers]
        return box_regions(np.moveaxis(np.asarray(places), 2, 0), sizes, (canvas, canvas))

    tables = table_of(source, 'source')
    return ProbingDataset(source, factors, compose, measure, tables, regions=regions)


def _check(source, num_digits, sizes, canvas, placement):
    if not source.num_classes:
        raise BadInput(f'config.data.source is {source.name}, whose images have no labels.')
    if placement not in PLACEMENTS:
        raise BadInput(f'config.data.placement is {placement!r}, not one of: {PLACEMENTS}.')
    if num_digits < 1:
        raise BadInput(f'config.data.num_digits is {num_digits}; it must be at least 1.')
    if len(sizes) not in (1, num_digits) or min(sizes) < 1:
        raise BadInput(
            f'config.data.sizes is {sizes}; it must be one size in pixels, or {num_digits}, one '
            'for each digit.'
        )
    if max(sizes) > canvas:
        raise BadInput(
            f'config.data.sizes is {sizes}; no digit may be larger than the canvas of {canvas}.'
        )
    cells = (canvas // max(sizes)) ** 2
    if placement == 'grid' and num_digits > cells:
        raise BadInput(
            f'config.data.num_digits is {num_digits}; a canvas of {canvas} has {cells} cells of '
            f'{max(sizes)} pixels.'
        )
