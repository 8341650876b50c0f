"""Feature maps of a run: on which regions they lie, and how large they may be."""

import jax
import numpy as np
import pytest

from contrastive_jax import sharding
from contrastive_jax.training import local_features
from contrastive_jax.training.build import build
from contrastive_jax.training.embedding import embed_split


def test_the_maps_of_a_composed_image_lie_on_its_regions(config, monkeypatch):
    monkeypatch.setattr(local_features, 'LOCAL_IMAGES', 5)
    config.data = dict(source='digits', data_dir='', probing='multidigits', num_digits=2, canvas=56)
    experiment = build(config, sharding.data_mesh(1))
    variables = jax.jit(experiment.init_state)(experiment.seed_key).variables
    with jax.set_mesh(experiment.mesh):
        local = local_features.local_features(experiment)(variables)
        layer = list(local.maps)[-1]
        pooled = embed_split(experiment, variables, 'test', layers=(layer,), limit=5)
        cropped = local_features.local_features(experiment, whole=False)(variables)
    assert list(local.maps) == ['block_group_1', 'block_group_2', 'block_group_3']
    means = local.maps[layer].mean(axis=(1, 2))
    np.testing.assert_allclose(means, pooled[f'layer_{layer}'], atol=1e-5)
    assert local.images.shape == (5, 56, 56, 1)
    assert all(maps.min() >= 0 for maps in local.maps.values())  # behind the ReLU
    assert set(np.unique(local.regions)) == {0, 1, 2}
    assert not local.images[local.regions == 0].any()  # all ink is within the squares
    assert local.images[local.regions == 2].any()
    assert cropped.regions is None


@pytest.mark.parametrize(('side', 'after'), [(32, 32), (33, 16), (96, 32)])
def test_large_maps_are_averaged(side, after):
    maps = np.arange(2 * side * side * 3, dtype=np.float32).reshape(2, side, side, 3)
    found = local_features.averaged(maps)
    assert found.shape == (2, after, after, 3)
    blocks = side // after
    np.testing.assert_allclose(
        found[1, 2, 1], maps[1, 2 * blocks : 3 * blocks, blocks : 2 * blocks].mean((0, 1))
    )
