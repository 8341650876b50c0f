"""Pictures of the gallery that are images in rows: digits, codes and views."""

import functools

import jax
import numpy as np
from matplotlib.figure import Figure

from contrastive_jax import views
from contrastive_jax.data import probing
from contrastive_jax.data.probing.cdp import DIGITS
from contrastive_jax.data.probing.k_bit_images import bits_loss_floor
from contrastive_jax.training.step import compose_pairs
from contrastive_jax.views import lab

EACH = 6  # examples of a data set, or draws of a view
COLOURS = ('red', 'green', 'blue', 'white')
QUADRANTS = ('top left', 'top right', 'bottom left', 'bottom right')


def sides(dataset, ids):
    """The two sides of pairs at step 0 of seed 0, as NumPy arrays."""
    compose = jax.jit(functools.partial(compose_pairs, dataset, step=0))
    batch, seed_key = dataset.source.take(np.asarray(ids)), jax.random.key(0)
    return jax.device_get(compose(batch, tables=dict(dataset.tables), seed_key=seed_key))


def spread(source, count=EACH):
    """Ids spread evenly over a source, which may be sorted by class."""
    return np.arange(count) * (len(source) // count)


def show(axes, image, title=''):
    """One image [h, w, 1 or 3] in [0, 1], framed, so that a white one is seen too."""
    axes.imshow(np.clip(image, 0, 1), cmap='grey', vmin=0, vmax=1, interpolation='nearest')
    axes.set(xticks=[], yticks=[])
    axes.set_title(title, fontsize=9)


def rows_of(figure, rows, row_titles, titles):
    """Images in rows, each with a title at its left; `titles` [row][column] above the images."""
    grid = figure.subplots(len(rows), len(rows[0]), squeeze=False)
    for axes_row, images, row_title, above in zip(grid, rows, row_titles, titles, strict=True):
        for axes, image, title in zip(axes_row, images, above, strict=True):
            show(axes, image, title)
        axes_row[0].set_ylabel(row_title, fontsize=9)
    return grid


def multidigits(digits, natural):
    """More digits from left to right, by both placements."""
    del natural
    counts = (1, 2, 4, 8, 16)

    def canvas(count, placement):
        dataset = probing.multidigits(digits, num_digits=count, placement=placement)
        return sides(dataset, [5])[0]['image'][0]

    rows = [[canvas(count, placement) for count in counts] for placement in ('random', 'grid')]
    figure = Figure(figsize=(8.4, 3.6), layout='constrained')
    above = [f'{count} digit{"s" * (count > 1)}' for count in counts]
    rows_of(figure, rows, ['random placement', 'in-grid placement'], [above, [''] * len(counts)])
    return figure


def multidigits_sizes(digits, natural):
    """One small and one large digit."""
    del natural
    side = sides(probing.multidigits(digits, num_digits=2, sizes=(20, 60)), spread(digits))[0]
    labels = zip(side['label_1'], side['label_2'], strict=True)
    above = [f'{small} of 20 pixels\n{large} of 60 pixels' for small, large in labels]
    figure = Figure(figsize=(9, 1.95), layout='constrained')
    rows_of(figure, [side['image']], [''], [above])
    return figure


def digit_on_image(digits, natural):
    """Nine copies of a digit on natural images, whose classes compete with it."""
    dataset = probing.digit_on_image(natural, digits=digits, num_unique=16, balanced=True)
    side = sides(dataset, spread(natural))[0]
    above = [f'digit {digit}' for digit in side['digit']]
    if 'label' in dataset.factors:
        above = [f'image class {side["label"][i]}\n{title}' for i, title in enumerate(above)]
    figure = Figure(figsize=(9, 1.95), layout='constrained')
    rows_of(figure, [side['image']], [''], [above])
    return figure


def cdp(digits, natural):
    """Both sides of pairs: the attributes are shared, the backgrounds are not."""
    first, second = sides(probing.cdp(digits, backgrounds=natural), spread(digits))
    attributes = zip(first['colour'], first['digit'], first['position'], strict=True)
    above = [
        f'{COLOURS[colour]} {DIGITS[digit]}\n{QUADRANTS[position]}'
        for colour, digit, position in attributes
    ]
    figure = Figure(figsize=(9, 3.4), layout='constrained')
    rows, row_titles = [first['image'], second['image']], ['first side', 'second side']
    rows_of(figure, rows, row_titles, [above, [''] * EACH])
    return figure


def randbit(digits, natural):
    """Two crops of each digit, with the bits of its code below."""
    del natural
    side = sides(probing.randbit(digits, num_bits=6), spread(digits))[0]
    crop = functools.partial(views.crop_only, area_range=(0.3, 1.0))
    rows = []
    for number in (0, 1):
        images = draw(crop, jax.random.split(jax.random.key(number), EACH), side['image'])
        rows.append(list(map(with_bits, images, side['channels'])))
    codes = zip(side['label'], side['code'], strict=True)
    above = [f'label {label}\ncode {code}' for label, code in codes]
    figure = Figure(figsize=(9, 3.7), layout='constrained')
    for axes_row in rows_of(figure, rows, ['first view', 'second view'], [above, [''] * EACH]):
        for axes, bits in zip(axes_row, side['channels'], strict=True):
            middles = (np.arange(len(bits)) + 0.5) * rows[0][0].shape[1] / len(bits) - 0.5
            axes.set_xticks(middles, [f'{bit:.0f}' for bit in bits])
            axes.tick_params(length=0, labelsize=9, pad=2)
    return figure


def with_bits(image, bits):
    """A grey image, enlarged to a multiple of the number of bits, above a strip of the bits."""
    image = np.repeat(np.repeat(np.clip(image[..., 0], 0, 1), len(bits), 0), len(bits), 1)
    strip = np.broadcast_to(np.repeat(bits, image.shape[1] // len(bits)), (24, image.shape[1]))
    return np.concatenate([image, np.full_like(strip, 0.5)[:4], strip])


def k_bit_images(digits, natural):
    """The channels of four examples, and how low a loss their bits allow."""
    del digits
    side = sides(probing.k_bit_images(natural, num_bits=5), spread(natural, 4))[0]
    whole = Figure(figsize=(9, 3.6), layout='constrained')
    left, right = whole.subfigures(1, 2, width_ratios=(1.5, 1))
    rows = [
        [image, *(np.full_like(image, bit) for bit in bits)]
        for image, bits in zip(side['image'], side['channels'], strict=True)
    ]
    above = ['image', *(f'bit {number}' for number in range(5))]
    row_titles = [f'code {code}' for code in side['code']]
    rows_of(left, rows, row_titles, [above] + [[''] * 6] * 3)
    left.suptitle('What both views see: constant channels', fontsize=10)
    axes = right.subplots()
    bits = np.arange(21)
    for batch_size in (128, 1024):
        floor = [bits_loss_floor(int(number), batch_size) for number in bits]
        axes.plot(bits, floor, '.-', label=f'batch of {batch_size}')
    axes.set(xlabel='bits k', ylabel='nats', xticks=range(0, 21, 5), ylim=(0, None))
    axes.set_title('The least NT-Xent that k bits allow', fontsize=10)
    axes.legend()
    return whole


def all_views(digits, natural):
    """Draws of every named view of one photograph, from the fewest operations to the most."""
    del digits
    photograph = natural.take(np.asarray([208 % len(natural)]))['image'] / np.float32(255)
    images, keys = photograph.repeat(EACH, axis=0), jax.random.split(jax.random.key(0), EACH)
    by_length = sorted(views.__all__, key=lambda name: len(getattr(views, name).operations_of()))
    drawn = {name: draw(getattr(views, name), keys, images) for name in by_length}
    drawn['luminance'] = (drawn['luminance'] + 1) / 2  # of L, normalised to [-1, 1]
    drawn['colour'] = rgb_of_colour(drawn['colour'])
    titles = [f'draw {number}' for number in range(1, EACH + 1)]
    figure = Figure(figsize=(8.8, 1.15 * len(drawn)), layout='constrained')
    above = [titles] + [[''] * EACH] * (len(drawn) - 1)
    for axes_row in rows_of(figure, list(drawn.values()), drawn, above):
        axes_row[0].yaxis.label.set(rotation=0, ha='right', va='center')
    return figure


def draw(view, keys, images):
    """A view of each image with the key of its place, as NumPy arrays."""
    return jax.device_get(jax.jit(jax.vmap(view))(keys, images))


def rgb_of_colour(colour, lightness=65.0):
    """The RGB images of colours a, b (`lab.split_lab`) [..., 2], all at one lightness."""
    ab = colour * lab.SCALE[1:] + lab.MEAN[1:]
    colours = np.concatenate([np.full_like(ab[..., :1], lightness), ab], axis=-1)
    roots = (colours + [16, 0, 0]) @ np.linalg.inv(lab.FROM_ROOTS).T
    xyz = np.where(roots > 0.2069, roots**3, (roots - 16 / 116) / 7.787) * lab.WHITE
    linear = np.clip(xyz @ np.linalg.inv(lab.RGB_TO_XYZ).T, 0, 1)
    return np.where(linear > 0.0031308, 1.055 * linear ** (1 / 2.4) - 0.055, 12.92 * linear)
