"""The images and feature maps that Figs. 3 and 4 of Chen 2021 draw, of a run or of a source."""

import functools

import jax
import numpy as np
from flax.errors import ScopeParamShapeError

from contrastive_jax.errors import BadInput


def maps_of_run(path, count):
    """The first test images of a run, its feature maps of them, and their regions or None."""
    from contrastive_jax.training.local_features import local_features
    from contrastive_jax.training.restore import restored_run

    experiment, state = restored_run(path)
    with jax.set_mesh(experiment.mesh):
        local = local_features(experiment)(state.variables)
    maps = {layer: values[:count] for layer, values in local.maps.items()}
    return local.images[:count], maps, None if local.regions is None else local.regions[:count]


def maps_of_source(path, source, data_dir, ids):
    """Test images of a source, and the feature maps that a run's encoder makes of them."""
    from contrastive_jax.data import sources
    from contrastive_jax.models.layers import layer_outputs
    from contrastive_jax.training.restore import restored_run
    from contrastive_jax.training.shapes import appended_channels, layers_with_maps

    rows = sources.open_source(source, 'test', data_dir).take(np.asarray(ids))
    images = rows['image'].astype(np.float32) / np.float32(255)
    experiment, state = restored_run(path)
    appended = appended_channels(experiment.test)
    if appended or images.shape[-1] != experiment.image_shape[-1]:
        raise BadInput(
            f'--source is {source!r}, with images of {images.shape[-1]} channels; the network of '
            f'{path} sees {experiment.image_shape[-1]}, of which {appended} are appended by its '
            'data: take a source with as many, and a run that appends none.'
        )
    layers = layers_with_maps(experiment, state.variables)
    outputs = functools.partial(layer_outputs, experiment.model, layers=layers, pooled=False)
    try:
        found = jax.jit(outputs)(state.variables, images)
    except ScopeParamShapeError as error:
        side, seen = (
            ' x '.join(map(str, of[-3:-1])) for of in (images.shape, experiment.image_shape)
        )
        raise BadInput(
            f'--source is {source!r}, with images of {side} pixels; the network of {path} has a '
            f'dense layer that sees each place and takes only images of {seen}: take a source of '
            'that size.'
        ) from error
    return images, {layer: np.asarray(found[layer], np.float32) for layer in layers}
