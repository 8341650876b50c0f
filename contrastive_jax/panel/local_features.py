"""Whether clusters of local features follow the objects that lie on an image."""

import io
import math

import numpy as np

from contrastive_jax.evaluation.local_features import (
    cluster_agreement,
    cluster_map_picture,
    cluster_maps,
    image_patches,
)
from contrastive_jax.panel.section import Section, measures_of

CLUSTERS = 8
DRAWN = 8  # images
PATCHES = 8  # along each side, of the baseline

MEANINGS = {
    'agreement': 'adjusted mutual information of clusters and regions: 0 is chance, 1 the same',
    'of_another_image': 'the same with the clusters of another image: what their place alone tells',
    'untrained': 'the same of the encoder as it was initialised',
    'foreground': 'agreement at the places of objects alone: are they told from each other?',
    'places': 'of the map of one image: many small places agree less with large regions',
}


def section(material, key):
    """K-means of the feature maps of every block group, and of raw patches; None without maps."""
    del key
    if material.local is None:
        return None
    images, regions = material.local.images, material.local.regions
    side = max(1, min(images.shape[1:3]) // PATCHES)
    features = {f'pixels {side}x{side}': image_patches(images, side), **material.local.maps}
    places = {name: math.prod(values.shape[:3]) for name, values in features.items()}
    maps = {
        name: cluster_maps(values, CLUSTERS)
        for name, values in features.items() if places[name] >= CLUSTERS
    }  # fmt: skip
    few = ''.join(
        f' {name} is left out: it has {count} places in all images, fewer than clusters.'
        for name, count in places.items()
        if name not in maps
    )
    text = (
        f'{CLUSTERS} clusters of the local features of {len(images)} test images, of unit length, '
        'shared by all images. '
    )
    results = {name: {'places': ids[0].size} for name, ids in maps.items()}
    if regions is None:
        text += 'Where objects lie is not known of this data: the picture alone tells.'
    else:
        text += 'How far they follow the known regions of the objects, image by image:'
        for name, ids in maps.items():
            results[name] |= cluster_agreement(ids, regions)
        if np.ptp(regions, axis=0).any():
            for name, ids in maps.items():
                results[name] |= renamed('of_another_image', np.roll(ids, 1, axis=0), regions)
        else:
            text += (
                ' They are the same in all images, so that a map which knows its borders agrees '
                'as one which knows objects does; compare with an untrained encoder.'
            )
        for name, values in material.local.untrained.items():
            if name in maps:
                results[name] |= renamed('untrained', cluster_maps(values, CLUSTERS), regions)
    # NaN where no image has two regions, or the objects are one.
    results = {
        of: {name: value for name, value in found.items() if not math.isnan(value)}
        for of, found in results.items()
    }
    caption = 'A colour is the same cluster in all images of a row; grey is the largest.'
    known = {} if regions is None else {'known regions': regions}
    # Spread over the images, which may be in the order of their classes.
    places = np.unique(np.linspace(0, len(images) - 1, DRAWN).astype(int))
    shown = {name: ids[places] for name, ids in {**known, **maps}.items()}
    figure = cluster_map_picture(images[places], shown)
    figure.suptitle('Do clusters of local features follow the objects?')
    file = io.BytesIO()
    figure.savefig(file, format='png', dpi=80)
    measures = tuple(measures_of(results, MEANINGS))
    return Section('Local features', text + few, measures, {caption: file.getvalue()})


def renamed(name, ids, regions):
    """The agreement of cluster ids with regions, under another name."""
    found = cluster_agreement(ids, regions)
    return {f'{name}{end}': found[f'agreement{end}'] for end in ('', '_low', '_high')}
