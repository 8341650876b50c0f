"""Figs. 3 and 4 of Chen 2021: images in clusters of their local features, for several K."""

import numpy as np

from contrastive_jax import reporting

RAW = 'raw pixels'


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
