"""Feature maps of a few test images of a run, and the regions that are known of them."""

import functools

import jax
import numpy as np

from contrastive_jax import randomness, sharding
from contrastive_jax.models.layers import layer_outputs
from contrastive_jax.panel.material import LocalFeatures
from contrastive_jax.training.embedding import chosen_ids
from contrastive_jax.training.shapes import layers_with_maps
from contrastive_jax.training.step import ROW, append_channels, compose

LOCAL_IMAGES = 64
LARGEST_MAP = 32  # places along a side; larger maps are averaged over blocks of them


def local_features(experiment, *, whole=True):
    """Reads feature maps of a few test images at every block group.

    Args:
      experiment: a `build.Experiment`.
      whole: whether the encoder sees the whole image, so that its maps lie on the known regions.

    Returns:
      (variables of the model, those of the untrained one or None) -> `LocalFeatures`, compiled at
      the first call; None of a network without maps. Every process takes part.
    """
    state = jax.eval_shape(experiment.init_state, experiment.seed_key)
    layers = layers_with_maps(experiment, state.variables)
    if not layers:
        return None
    dataset = experiment.test
    ids = chosen_ids(dataset.source, LOCAL_IMAGES)
    rows = dataset.source.take(np.arange(len(dataset.source)) if ids is None else ids)
    fields = {name: rows[name] for name in ROW}
    key = randomness.key_for(experiment.seed_key, randomness.SPLIT_ROLES['test'])

    @functools.partial(jax.jit, out_shardings=sharding.replicated(experiment.mesh))
    def computed(variables, rows, tables, key):
        examples = compose(dataset, rows, tables, key)
        seen = jax.vmap(experiment.resting_view)(examples['image'])
        images = append_channels(seen, examples['channels'])
        maps = layer_outputs(experiment.model, variables, images, layers, pooled=False)
        factors = {name: examples[name] for name in dataset.factors}
        return examples['image'], {name: averaged(values) for name, values in maps.items()}, factors

    def maps_of(variables):
        images, maps, factors = jax.device_get(
            computed(variables, fields, dict(dataset.tables), key)
        )
        return images, {name: maps[name] for name in layers}, factors

    def read(variables, untrained=None):
        images, maps, factors = maps_of(variables)
        if images.shape[-1] not in (1, 3):
            images = images.mean(axis=-1, keepdims=True)
        regions = dataset.regions(factors) if dataset.regions and whole else None
        before = {} if untrained is None else maps_of(untrained)[1]
        return LocalFeatures(images, maps, regions, before)

    return read


def averaged(maps):
    """Feature maps [n, h, w, c], averaged over blocks where a side is above LARGEST_MAP."""
    count, height, width, channels = maps.shape
    side = -(-max(height, width) // LARGEST_MAP)
    rows, columns = height // side, width // side
    blocks = maps[:, : rows * side, : columns * side].astype(np.float32)
    return blocks.reshape(count, rows, side, columns, side, channels).mean((2, 4))
