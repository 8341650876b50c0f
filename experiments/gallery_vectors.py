"""Pictures of the gallery that are points in the plane."""

import numpy as np
from matplotlib.figure import Figure

from contrastive_jax.data import probing, sources
from experiments.gallery_images import sides

COUNT = 2000  # points of a picture
PAIRS = 60  # pairs that are joined by a line


def pairs_of(make, **options):
    """Both sides of a data set of vectors, with vectors [n, d] for images."""
    dataset = make(sources.open_source(f'synthetic:{COUNT}', 'train'), **options)
    both = sides(dataset, range(COUNT))
    return [side | {'image': side['image'].reshape(COUNT, -1)} for side in both], dataset


def spirals(digits, natural):
    """What training sees of the points, for three widths of the noise."""
    del digits, natural
    figure = Figure(figsize=(9, 3.4), layout='constrained')
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    for axes, noise in zip(panels, (0.0, 0.4, 2.0), strict=True):
        (side, _), _ = pairs_of(probing.spirals, noise=noise)
        for arm, colour in enumerate(('tab:blue', 'tab:red')):
            points = side['image'][side['arm'] == arm]
            axes.plot(*points.T, '.', color=colour, markersize=2, label=f'arm {arm}')
        axes.set(aspect='equal')
        clean = 'without noise, as in evaluation' if noise == 0 else f'views with noise {noise}'
        axes.set_title(clean, fontsize=10)
    panels[0].legend(loc='upper right', markerscale=4, fontsize=8)
    return figure


def gaussian_pair(digits, natural):
    """One side against the other, for two correlations."""
    del digits, natural
    figure = Figure(figsize=(8, 4), layout='constrained')
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, correlation in zip(panels, (0.2, 0.8), strict=True):
        (first, second), dataset = pairs_of(probing.gaussian_pair, correlation=correlation)
        information = dataset.measure(None)['mutual_information_nats']
        axes.plot(first['image'], second['image'], '.', markersize=3, alpha=0.5)
        axes.set(xlabel='X, the first side', aspect='equal')
        axes.set_title(f'correlation {correlation}: I(X; Y) = {information:.3f} nats', fontsize=10)
    panels[0].set_ylabel('Y, the second side')
    return figure


def content_style(digits, natural):
    """Latents of both sides, their coordinates side against side, and what is seen of them."""
    del digits, natural
    figure = Figure(figsize=(9, 6.4), layout='constrained')
    box, sphere = figure.subfigures(2, 1)
    (first, second), _ = pairs_of(
        probing.content_style, dimensions=2, content_dimensions=1, deviation=0.1
    )
    draw_latents(
        box, 'box, style N(z, 0.1²)', 'content is shared, style is not', first, second, range(PAIRS)
    )
    (first, second), _ = pairs_of(
        probing.content_style, space='sphere', dimensions=3, content_dimensions=1,
        conditional='von_mises_fisher', concentration=20.0,
    )  # fmt: skip
    front = np.flatnonzero((first['latents'][:, 2] > 0) & (second['latents'][:, 2] > 0))
    draw_latents(
        sphere, 'sphere, style von Mises-Fisher, κ = 20', 'content is shared up to a factor',
        first, second, front[:PAIRS],
    )  # fmt: skip
    return figure


def draw_latents(figure, space, shared, first, second, joined):
    """A row of three panels; the pairs `joined` are drawn in the plane of content and style."""
    plane, coordinates, seen = figure.subplots(1, 3)
    one, two = first['latents'], second['latents']
    ends = np.stack([one[joined], two[joined]])
    plane.plot(ends[..., 0], ends[..., 1], color='grey', linewidth=1, zorder=0)
    plane.scatter(*ends[0, :, :2].T, c=ends[0, :, 0], s=18)
    plane.scatter(*ends[1, :, :2].T, facecolors='white', edgecolors='grey', s=12)
    plane.set(xlabel='content $z_1$', ylabel='style $z_2$', aspect='equal')
    plane.set_title(f'{space}:\npairs, ● first and ○ second side', fontsize=10)
    for coordinate, name in ((1, 'style $z_2$'), (0, 'content $z_1$')):
        values = one[:, coordinate], two[:, coordinate]
        coordinates.plot(*values, '.', markersize=2, label=name)
    coordinates.set(xlabel='first side', ylabel='second side', aspect='equal')
    coordinates.set_title(shared, fontsize=10)
    coordinates.legend(markerscale=4, fontsize=8, loc='upper left')
    seen.scatter(*first['image'][:, :2].T, c=one[:, 0], s=4)
    seen.set(xlabel=f'$x_1$ (of {first["image"].shape[1]})', ylabel='$x_2$', aspect='equal')
    seen.set_title('what is seen, x = g(z);\ncolour is content', fontsize=10)
