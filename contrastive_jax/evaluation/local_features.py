"""Local features: whether clusters of an encoder's feature maps follow the objects of an image."""

import math
import warnings
from collections.abc import Mapping

import numpy as np
from sklearn import cluster, metrics
from sklearn.exceptions import ConvergenceWarning

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.intervals import NORMAL_95
from contrastive_jax.evaluation.rows import checked_rows, unit_length


def image_patches(images, side=14):
    """Raw pixels as local features: the baseline to a network's.

    Args:
      images: [n, H, W, c].
      side: of the patches, which do not overlap; rows and columns beyond the last are left out.

    Returns:
      [n, H // side, W // side, side * side * c].

    Raises:
      BadInput: another shape, or patches larger than the images.

    Source: Chen 2021, section 4: patches of 14 pixels.
    """
    images = np.asarray(images)
    if images.ndim != 4 or not 1 <= side <= min(images.shape[1:3]):
        raise BadInput(f'patches of {side} pixels do not fit images of shape {images.shape}.')
    count, height, width, channels = images.shape
    rows, columns = height // side, width // side
    cut = images[:, : rows * side, : columns * side]
    blocks = cut.reshape(count, rows, side, columns, side, channels).swapaxes(2, 3)
    return blocks.reshape(count, rows, columns, side * side * channels)


def cluster_maps(features, num_clusters, *, per_image=False, seed=0):
    """K-means of local features of unit length: which cluster each place of each image is in.

    Args:
      features: [n, h, w, c] of any floating type: a block group of
        `contrastive_jax.models.resnet.intermediates`, or `image_patches`.
      num_clusters: K >= 1, at most the places that are clustered together.
      per_image: whether each image has clusters of its own; if not, all share theirs.
      seed: of K-means++; the best of three starts is taken.

    Returns:
      int32 [n, h, w], 0..K-1, by falling size of the cluster. Fewer than K where fewer features
      are different.

    Raises:
      BadInput: another shape, features that are not finite, K out of its range.

    Source: Chen 2021, section 4, Figs. 3 and 4. The paper leaves open K and whether clusters are
    of one image or of all.
    """
    features = np.asarray(features)
    if features.ndim != 4:
        raise BadInput(f'features must be [n, h, w, c], got shape {features.shape}.')
    shape = features.shape[:3]
    rows = unit_length(checked_rows(features.reshape(-1, features.shape[3]), 'local features'))
    together = math.prod(shape[1:]) if per_image else len(rows)
    if not 1 <= num_clusters <= together:
        raise BadInput(
            f'num_clusters is {num_clusters}, outside 1..{together}, the places that are clustered.'
        )
    ids = [
        _by_size(_clustered(rows[start : start + together], num_clusters, seed))
        for start in range(0, len(rows), together)
    ]
    return np.concatenate(ids).reshape(shape).astype(np.int32)


def cluster_agreement(maps, regions):
    """How far clusters follow known regions, image by image: adjusted mutual information.

      AMI = (I(C; R) - E I) / ((H(C) + H(R)) / 2 - E I)

    of cluster ids C and region ids R over the cells of one map, E under permutations of the cells:
    0 at chance, 1 where each determines the other. Regions are reduced to the cells of the maps,
    each cell to the region that has most of its pixels, the lower id in a tie. (Maps enlarged to
    the pixels would count one cell many times, and chance would no longer be 0.)

    Args:
      maps: cluster ids [n, h, w], integers.
      regions: region ids [n, H, W], integers; H >= h, W >= w; 0 is the background, 1 and up are
        objects: `regions` of a probing dataset, such as MultiDigits'.

    Returns:
      A dict of floats: `agreement` over all cells, the mean over images with its 95 % interval
      `agreement_low`, `agreement_high`; `foreground`, `foreground_low`, `foreground_high` over the
      cells of objects alone; and `images`, `foreground_images`, how many images each is over.
      Images whose cells are all of one region, or each of its own, have nothing to agree on and
      are left out. NaN where no image is left, and the intervals also where only one is.

    Raises:
      BadInput: shapes that do not match or ids that are not integers.
    """
    maps, regions = (_checked_ids(*pair) for pair in ((maps, 'maps'), (regions, 'regions')))
    if len(maps) != len(regions) or any(np.less(regions.shape[1:], maps.shape[1:])):
        raise BadInput(
            f'maps [n, h, w] and regions [n, H, W] must be of the same images, H >= h and W >= w; '
            f'got {maps.shape} and {regions.shape}.'
        )
    cells = regions_of_cells(regions, maps.shape[1:])
    found = {}
    for name, count, least in (('agreement', 'images', 0), ('foreground', 'foreground_images', 1)):
        scores = [
            metrics.adjusted_mutual_info_score(region[region >= least], ids[region >= least])
            for ids, region in zip(maps, cells, strict=True)
            if 1 < len(np.unique(region[region >= least])) < np.sum(region >= least)
        ]
        found |= _mean_with_interval(name, scores) | {count: float(len(scores))}
    return found


def layer_agreements(images, maps, regions, *, num_clusters=8, patch=None):
    """How far clusters of each layer, and of raw pixels, follow known regions.

    Args:
      images: [n, H, W, c], whose patches are the raw pixels.
      maps: dict of layer to features [n, h, w, d] of the same images.
      regions: region ids [n, H, W], as for `cluster_agreement`.
      num_clusters: K, or several.
      patch: side of the patches in pixels; an eighth of the images' shorter side by default.

    Returns:
      A dict of floats: `agreement_<K>_<layer>` and `foreground_<K>_<layer>`, as
      `cluster_agreement`, clusters shared by all images; the raw pixels are the layer `pixels`. A
      layer with fewer places than clusters is left out, and so is what no image has, such as the
      foreground where every image has one object.

    Raises:
      BadInput: as `image_patches`, `cluster_maps` and `cluster_agreement`.

    Source: Chen 2021, Figs. 3 and 4, which show pictures; the agreement is ours.
    """
    patch = patch or max(1, min(np.shape(images)[1:3]) // 8)
    features, found = {'pixels': image_patches(images, patch), **maps}, {}
    for clusters in (num_clusters,) if isinstance(num_clusters, int) else num_clusters:
        for layer, values in features.items():
            if math.prod(values.shape[:3]) < clusters:
                continue
            scores = cluster_agreement(cluster_maps(values, clusters), regions)
            for name in ('agreement', 'foreground'):
                if not math.isnan(scores[name]):
                    found[f'{name}_{clusters}_{layer}'] = scores[name]
    return found


def regions_of_cells(regions, shape):
    """Regions [n, H, W] at the cells of a map, [n, *shape]: the id of most pixels of each cell."""
    regions = np.asarray(regions)
    names, ids = np.unique(regions, return_inverse=True)
    ids = ids.reshape(regions.shape)
    # A pixel belongs to the cell that its centre lies in.
    rows, columns = (
        ((np.arange(pixels) + 0.5) * cells / pixels).astype(int)
        for pixels, cells in zip(regions.shape[1:], shape, strict=True)
    )
    counts = np.zeros((len(regions), *shape, len(names)), np.int64)
    images = np.arange(len(regions))[:, None, None]
    np.add.at(counts, (images, rows[:, None], columns, ids), 1)
    return names[np.argmax(counts, axis=-1)]


def cluster_map_picture(images, maps):
    """A picture of images with their cluster maps below, one column an image.

    Args:
      images: [n, H, W, 1 or 3] in [0, 1].
      maps: cluster ids [n, h, w], or a dict of them by the title of their row: several block
        groups. Colours say nothing across rows, nor across images where clusters are of one image.

    Returns:
      A matplotlib Figure; `savefig(path)` writes it.

    Raises:
      BadInput: images of another shape, or maps of another number.
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    images = np.asarray(images, np.float32)
    maps = maps if isinstance(maps, Mapping) else {'': maps}
    maps = {title: _checked_ids(ids, f'maps {title}'.strip()) for title, ids in maps.items()}
    if images.ndim != 4 or images.shape[3] not in (1, 3):
        raise BadInput(f'images must be [n, H, W, 1 or 3], got shape {images.shape}.')
    if any(len(ids) != len(images) for ids in maps.values()):
        numbers = {title: len(ids) for title, ids in maps.items()}
        raise BadInput(f'there must be a map for each of the {len(images)} images, got {numbers}.')
    figure = Figure(figsize=(1.4 * len(images) + 0.4, 1.4 * (1 + len(maps))), layout='constrained')
    grid = figure.subplots(1 + len(maps), len(images), squeeze=False)
    # The largest cluster, most often the background, is grey; the others have strong colours.
    palette = np.concatenate(
        [[[0.85] * 3], [colormaps['tab10'](i)[:3] for i in (0, 1, 2, 3, 4, 5, 6, 8, 9)]]
    )
    rows = [('images', np.clip(images, 0, 1))]
    for title, ids in maps.items():
        clusters = int(ids.max()) + 1
        if clusters > len(palette):
            many = colormaps['hsv'](np.linspace(0, 1, clusters, endpoint=False))[:, :3]
            palette = np.concatenate([palette[:1], many[1:]])
        rows.append((title, palette[ids]))
    for axes_row, (title, pictures) in zip(grid, rows, strict=True):
        for axes, picture in zip(axes_row, pictures, strict=True):
            axes.imshow(picture, cmap='grey', vmin=0, vmax=1, interpolation='nearest')
            axes.set(xticks=[], yticks=[])
        axes_row[0].set_ylabel(title, fontsize=9)
    return figure


def _clustered(rows, num_clusters, seed):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', ConvergenceWarning)  # fewer different rows than clusters
        return cluster.KMeans(num_clusters, n_init=3, random_state=seed).fit_predict(rows)


def _by_size(ids):
    """The same clusters, numbered by falling size."""
    names, places, counts = np.unique(ids, return_inverse=True, return_counts=True)
    rank = np.empty(len(names), int)
    rank[np.argsort(-counts, kind='stable')] = np.arange(len(names))
    return rank[places]


def _checked_ids(ids, name):
    ids = np.asarray(ids)
    if ids.ndim != 3 or not ids.size or ids.dtype.kind not in 'iub' or ids.min() < 0:
        raise BadInput(
            f'{name} must be integers [n, height, width], 0 and up; got {ids.dtype} of shape '
            f'{ids.shape}.'
        )
    return ids.astype(np.int64)


def _mean_with_interval(name, values):
    mean = float(np.mean(values)) if values else math.nan
    half = math.nan
    if len(values) > 1:
        half = NORMAL_95 * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return {name: mean, f'{name}_low': mean - half, f'{name}_high': mean + half}
