"""Figs. 2 and 5 of Chen 2021: MultiDigits, and the three data sets of competing features."""

import functools

import jax
import numpy as np
from matplotlib.figure import Figure

from configs.chen2021.multidigits_number import NUMBERS
from contrastive_jax import reporting, views
from contrastive_jax.data import probing, sources
from contrastive_jax.training.step import compose_pairs

COLUMNS = 6
HOSTS = 'photographs,size=64,count=200'


def draw(path, hosts=HOSTS, data_dir=''):
    """Draws one picture of the three data sets, and writes it.

    Args:
      path: of the PNG.
      hosts: source of the natural images; ImageNet's is 'tfds:imagenet2012,size=224,fit=centre'.
      data_dir: where TFDS prepared it.
    """
    digits = sources.open_source('digits', 'train')
    natural = sources.open_source(hosts, 'train', data_dir)
    parts = {
        'Digits on natural images: the image, and views of it': overlaid(digits, natural),
        'MultiDigits: two digits of one size, and a second one of 20 to 80 pixels': pairs(digits),
        'RandBit: two views, and the bits of both as constant channels': with_bits(natural),
    }
    figure = Figure(figsize=(1.5 * COLUMNS, 1.68 * sum(map(len, parts.values())) + 1.0))
    heights = [len(rows) for rows in parts.values()]
    slots = figure.add_gridspec(len(parts), 1, height_ratios=heights, hspace=0.18)
    for (title, rows), slot in zip(parts.items(), slots, strict=True):
        grid = slot.subgridspec(len(rows), COLUMNS, hspace=0.06, wspace=0.06).subplots()
        for axes_row, images in zip(np.atleast_2d(grid), rows, strict=True):
            for axes, image in zip(axes_row, images, strict=True):
                axes.imshow(image, cmap='grey', vmin=0, vmax=1, interpolation='nearest')
                axes.set(xticks=[], yticks=[])
        np.atleast_2d(grid)[0, 0].set_title(title, loc='left', fontsize=11)
    reporting.save_figure(figure, path, dpi=120, bbox_inches='tight')


def draw_multidigits(path):
    """Draws MultiDigits by the number of digits (columns), at random places and in a grid (rows).

    Args:
      path: of the PNG.
    """
    digits = sources.open_source('digits', 'train')
    titles = {'random': 'anywhere', 'grid': 'in the cells of a grid'}
    figure = Figure(figsize=(1.6 * len(NUMBERS), 3.7), layout='constrained')
    panels = figure.subplots(len(titles), len(NUMBERS))
    for axes_row, (placement, title) in zip(panels, titles.items(), strict=True):
        axes_row[0].set_ylabel(title)
        for axes, number in zip(axes_row, NUMBERS, strict=True):
            dataset = probing.multidigits(digits, num_digits=number, placement=placement)
            axes.imshow(composed(dataset, [5])['image'][0], cmap='grey', vmin=0, vmax=1)
            axes.set(xticks=[], yticks=[])
    for axes, number in zip(panels[0], NUMBERS, strict=True):
        axes.set_title('1 digit' if number == 1 else f'{number} digits', fontsize=10)
    figure.suptitle('MultiDigits: the more digits, the more overlap, unless they stand in a grid')
    reporting.save_figure(figure, path, dpi=120)


def overlaid(digits, natural):
    """Two rows: an image with its digit, then views by crop and colour distortion."""
    dataset = probing.digit_on_image(natural, digits=digits, num_unique=16, balanced=True)
    images = composed(dataset, np.arange(2) * (len(natural) // 2))['image']
    rows = []
    for number, image in enumerate(images):
        rows.append([image, *seen(image, jax.random.split(jax.random.key(number), COLUMNS - 1))])
    return rows


def pairs(digits):
    """Two rows of two digits: both of 20 pixels; the second of 20 to 80."""
    sizes = np.linspace(20, 80, COLUMNS).round().astype(int).tolist()
    alike = probing.multidigits(digits, num_digits=2, sizes=(20,))
    grown = [probing.multidigits(digits, num_digits=2, sizes=(20, size)) for size in sizes]
    return [
        list(composed(alike, np.arange(COLUMNS) * (len(digits) // COLUMNS))['image']),
        [composed(dataset, [5])['image'][0] for dataset in grown],
    ]


def with_bits(natural, num_bits=COLUMNS - 2):
    """Two rows, each of one image: two views of it, then its bits."""
    ids = np.asarray([4, 7]) * (len(natural) // 10) + 1  # of two codes that are not all zero
    side = composed(probing.randbit(natural, num_bits=num_bits), ids)
    rows = []
    for number, (image, bits) in enumerate(zip(side['image'], side['channels'], strict=True)):
        views_of = seen(image, jax.random.split(jax.random.key(number)))
        rows.append([*views_of, *(np.full_like(image, bit) for bit in bits)])
    return rows


@jax.jit
def drawn(image, keys):
    """Views of one image [h, w, 3] by each of several keys."""
    return jax.vmap(views.simclr_imagenet, in_axes=(0, None))(keys, image)


def seen(image, keys):
    """Views of one image as arrays in [0, 1]."""
    return np.clip(jax.device_get(drawn(image, keys)), 0, 1)


def composed(dataset, ids):
    """Composed examples of a dataset, as the first side of pairs at step 0 of seed 0."""
    compose = jax.jit(functools.partial(compose_pairs, dataset, step=0))
    batch, seed_key = dataset.source.take(np.asarray(ids)), jax.random.key(0)
    return jax.device_get(compose(batch, tables=dict(dataset.tables), seed_key=seed_key))[0]
