"""Figs. 3 and 4 of Chen 2021: images in clusters of their local features, for several K."""

import numpy as np

from configs.chen2021 import BEFORE_TRAINING
from configs.chen2021.local_features_laptop import SIMCLR, SUPERVISED, TRAINING
from contrastive_jax import reporting

RAW = 'raw pixels'
# Name of a line -> the values of its rows.
SHOWN = {
    'SimCLR': {'loss': SIMCLR, **TRAINING},
    'supervised': {'loss': SUPERVISED, **TRAINING},
    'before training': {'loss': SIMCLR, **BEFORE_TRAINING},
}


def draw(path, images, features, clusters=(2, 4, 8), *, patch=0, regions=None):
    """Draws images side by side, each with its clusters by feature (rows) and K (columns).

    Args:
      path: of the PNG.
      images: [n, H, W, 1 or 3] in [0, 1].
      features: dict of the title of a row to local features [n, h, w, c] of the images.
      clusters: numbers of clusters, of one image each.
      patch: side of the patches of raw pixels, the first row; 0 is an eighth of the image.
      regions: known regions [n, H, W] beside each image, or None.
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    from contrastive_jax.evaluation.local_features import cluster_maps, image_patches

    patch = patch or max(1, min(images.shape[1:3]) // 8)
    features = {RAW: image_patches(images, patch), **features}
    palette = np.concatenate([[[0.85] * 3], colormaps['tab20'](range(20))[:, :3]])
    each, count = len(clusters), len(images)
    size = (1.15 * each * count + 0.5 * count + 1.0, 1.15 * (1 + len(features)) + 0.5)
    figure = Figure(figsize=size, layout='constrained')
    for number, part in enumerate(np.atleast_1d(figure.subfigures(1, count, wspace=0.04))):
        grid = part.subplots(1 + len(features), each, squeeze=False)
        for axes in grid.flat:
            axes.set(xticks=[], yticks=[])
            axes.set_frame_on(False)
        grid[0, 0].imshow(images[number], cmap='grey', vmin=0, vmax=1)
        if regions is not None and each > 1:
            grid[0, 1].imshow(palette[regions[number] % len(palette)], interpolation='nearest')
            grid[0, 1].set_title('known regions', fontsize=8)
        for axes_row, (title, values) in zip(grid[1:], features.items(), strict=True):
            for axes, k in zip(axes_row, clusters, strict=True):
                k = min(k, values.shape[1] * values.shape[2])
                ids = cluster_maps(values[number : number + 1], k)[0]
                axes.imshow(palette[ids % len(palette)], interpolation='nearest')
            if number == 0:
                axes_row[0].set_ylabel(title, fontsize=8)
        for axes, k in zip(grid[-1], clusters, strict=True):
            axes.set_xlabel(f'{k} clusters', fontsize=8)
    reporting.save_figure(figure, path, dpi=130)


def draw_agreement(rows, path):
    """Draws how far clusters follow known regions by layer, a panel for each number of clusters.

    Args:
      rows: of results.csv, dicts with the fields of `SHOWN`, `seed` and `agreement_<K>_<layer>`;
        a line without rows is left out.
      path: of the PNG.
    """
    from matplotlib.figure import Figure

    agreements = [name.split('_', 2)[1:] for name in rows[0] if name.startswith('agreement_')]
    clusters = sorted({int(k) for k, _ in agreements})
    layers = sorted(
        {layer for _, layer in agreements}, key=lambda layer: (layer != 'pixels', layer)
    )
    figure = Figure(figsize=(4.6 * len(clusters), 4.2), layout='constrained')
    panels = figure.subplots(1, len(clusters), sharey=True, squeeze=False)[0]
    for plot, k in zip(panels, clusters, strict=True):
        for marker, (name, values) in zip('osv', SHOWN.items(), strict=True):
            own = [row for row in rows if values.items() <= row.items()]
            if not own:
                continue
            points = [
                reporting.average_over_seeds(own, ['loss'], f'agreement_{k}_{layer}')[0]
                for layer in layers
            ]
            label = f'{name} (mean of {points[0]["seeds"]} seeds)'
            reporting.draw_points(plot, range(len(layers)), points, marker=marker, label=label)
        plot.set_title(f'{k} clusters')
        plot.set_xticks(range(len(layers)), [layer.replace('_', ' ') for layer in layers])
        plot.tick_params('x', rotation=20)
        plot.axhline(0, color='0.3', linestyle=':', linewidth=1)
        plot.grid(alpha=0.25)
    panels[0].set_ylabel('adjusted mutual information\nof clusters and known regions')
    panels[0].legend(frameon=False, loc='upper left')
    figure.suptitle('How far clusters of local features follow the object, by layer')
    reporting.save_figure(figure, path)
