"""Pictures of every probing dataset, as the encoder's two views would come from them.

python -m experiments.gallery --output=docs

Writes gallery.md and one PNG for each data set. Needs nothing to download; with
--hosts=tfds:imagenette,size=224 --data_dir=... the natural images are those of a TFDS data set.
"""

from pathlib import Path

import jax
import numpy as np
from absl import flags

from experiments import cli

OUTPUT = flags.DEFINE_string('output', 'docs', 'Directory for gallery.md and the pictures.')
HOSTS = flags.DEFINE_string('hosts', 'photographs,size=64,count=200', 'Source of natural images.')
DATA_DIR = flags.DEFINE_string('data_dir', '', 'Where TFDS prepared its data sets.')

EACH = 6  # examples of a data set


def entries(hosts, data_dir):
    """(name, title, what to see, dataset) of each picture."""
    from contrastive_jax.data import probing, sources

    digits = sources.open_source('digits', 'train')
    natural = sources.open_source(hosts, 'train', data_dir)
    points = sources.open_source('synthetic:2000', 'train')
    return [
        ('multidigits_random', 'MultiDigits, 4 digits anywhere',
         'Each digit and its place is a factor; compare Figure 2 of chen2021.',
         probing.multidigits(digits, num_digits=4)),
        ('multidigits_grid', 'MultiDigits, 8 digits in a grid of 4 x 4 cells',
         'No two digits share a cell.',
         probing.multidigits(digits, num_digits=8, placement='grid')),
        ('multidigits_sizes', 'MultiDigits, digits of 20 and 60 pixels',
         'The data of Table 4 of chen2021: the large digit competes with the small one.',
         probing.multidigits(digits, num_digits=2, sizes=(20, 60))),
        ('digit_on_image', 'DigitOnImageNet',
         'Nine copies of one digit of 16 on a natural image; compare Figure 5 of chen2021.',
         probing.digit_on_image(natural, digits=digits, num_unique=16, balanced=True)),
        ('cdp', 'CDP',
         'Colour, digit and position; the two rows are the two sides of a pair, whose backgrounds '
         'differ. Compare Figure 2 of lee2023.',
         probing.cdp(digits, backgrounds=natural)),
        ('randbit', 'RandBit, 6 bits',
         'Under each digit its code: constant channels that no augmentation touches.',
         probing.randbit(digits, num_bits=6)),
        ('spirals', 'Two spirals',
         'Left the points, right the same ones as a view with noise of 0.4 sees them.',
         probing.spirals(points, noise=0.4)),
        ('gaussian_pair', 'Gaussian pair, rho = 0.8',
         'What the two sides see of each pair; the mutual information is known.',
         probing.gaussian_pair(points, correlation=0.8)),
    ]  # fmt: skip


def sides(dataset, ids):
    """The two sides of pairs of a data set, as NumPy arrays."""
    from contrastive_jax.training.step import compose_pairs

    batch = dataset.source.take(np.asarray(ids))
    step = jax.jit(
        lambda batch, tables: compose_pairs(dataset, batch, tables, jax.random.key(0), 0)
    )
    return jax.device_get(step(batch, dict(dataset.tables)))


def draw_points(figure, first, second):
    """Scatters: of both sides where each is a plane, else of one side against the other."""
    one, two = (side['image'].reshape(len(side['image']), -1) for side in (first, second))
    if one.shape[1] == 1:
        axes = figure.subplots(1, 1)
        axes.plot(one[:, 0], two[:, 0], '.', markersize=3, alpha=0.5)
        axes.set(xlabel='first side', ylabel='second side', aspect='equal')
        return
    planes = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, plane in zip(planes, (first['latents'], two), strict=True):
        axes.scatter(*plane.T, c=first['arm'], cmap='coolwarm', s=3)
        axes.set(aspect='equal')


def draw_images(figure, first, second, differ):
    """Images in a row, or in two where the sides of a pair differ; a code as a strip below."""
    shown = (first, second) if differ else (first,)
    for axes_row, side in zip(figure.subplots(len(shown), EACH, squeeze=False), shown, strict=True):
        for axes, image, code in zip(axes_row, side['image'], side['channels'], strict=False):
            image = image if image.shape[2] == 3 else image[..., :1].repeat(3, axis=2)
            if len(code):
                strip = code.repeat(-(-image.shape[1] // len(code)))[: image.shape[1]]
                strip = np.broadcast_to(strip[None, :, None], (4, image.shape[1], 3))
                image = np.concatenate([image, np.full_like(strip, 0.5)[:1], strip])
            axes.imshow(np.clip(image, 0, 1), interpolation='nearest')
            axes.axis('off')


def figure_of(dataset):
    """A figure of a few examples spread over a data set, or of all points of a plane."""
    from matplotlib.figure import Figure

    points, count = dataset.source.image_shape[0] == 1, len(dataset.source)
    ids = range(count) if points else np.arange(EACH) * (count // EACH)
    first, second = sides(dataset, ids)
    rows = 2 if dataset.sides_differ else 1
    figure = Figure(figsize=(8, 4) if points else (9, 1.6 * rows), layout='constrained')
    if points:
        draw_points(figure, first, second)
    else:
        draw_images(figure, first, second, dataset.sides_differ)
    return figure


def main():
    """Draws every data set."""
    output = Path(OUTPUT.value)
    output.mkdir(parents=True, exist_ok=True)
    pages = [
        '# Gallery\n\nThe probing datasets of `contrastive_jax.data.probing`, before any '
        'augmentation. Made by `python -m experiments.gallery --output=docs`.\n'
    ]
    for name, title, text, dataset in entries(HOSTS.value, DATA_DIR.value):
        figure = figure_of(dataset)
        figure.savefig(output / f'{name}.png', dpi=80)
        factors = ', '.join(f'`{factor}`' for factor in list(dataset.factors)[:6])
        more = ' and others' if len(dataset.factors) > 6 else ''
        known = f' Factors: {factors}{more}.' if factors else ''
        pages.append(f'## {title}\n\n{text}{known}\n\n![{title}]({name}.png)\n')
        print(f'{output / name}.png', flush=True)
    (output / 'gallery.md').write_text('\n'.join(pages), encoding='utf-8')


if __name__ == '__main__':
    cli.run(main)
