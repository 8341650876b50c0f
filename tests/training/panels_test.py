"""What the panel gets of a run beyond its embeddings: layers, latents, weights and feature maps."""

import jax
import numpy as np
import pytest

from contrastive_jax import sharding
from contrastive_jax.training import panels
from contrastive_jax.training.build import build
from contrastive_jax.training.embedding import embed_split


def test_a_run_of_vectors_has_latents_and_layers(config):
    config.data = dict(source='synthetic:60', data_dir='', probing='spirals', noise=0.4)
    config.views = dict(name='none')
    config.model = dict(name='mlp', widths=(5, 4), head_widths=(3, 2))
    config.evaluation = dict(name='linear_probe', factor='arm')
    experiment = build(config, sharding.data_mesh(1))
    state = jax.jit(experiment.init_state)(experiment.seed_key)
    with jax.set_mesh(experiment.mesh):
        own = embed_split(experiment, state.variables, 'test')
    found = panels.beyond_embeddings(experiment, state, config.to_dict(), own)
    assert found['temperature'] == 0.2
    assert found['test_latents'].shape == (len(own['embeddings']), 2)
    # Dense_3 is z itself; Dense_1 is h before its leaky ReLU.
    assert {name: rows.shape[1] for name, rows in found['test_layers'].items()} == {
        'Dense_0': 5, 'Dense_1': 4, 'Dense_2': 3,
    }  # fmt: skip
    hidden = found['test_layers']['Dense_1']
    h = np.where(hidden > 0, 1, 0.01) * hidden
    np.testing.assert_allclose(h, own['embeddings'], atol=1e-6)
    assert {name: matrix.shape for name, matrix in found['weights'].items()} == {
        'Dense_0/kernel': (2, 5), 'Dense_1/kernel': (5, 4), 'Dense_2/kernel': (4, 3),
        'Dense_3/kernel': (3, 2),
    }  # fmt: skip
    assert found['local'] is None


def test_the_maps_of_a_composed_image_lie_on_its_regions(config, monkeypatch):
    monkeypatch.setattr(panels, 'LOCAL_IMAGES', 5)
    config.data = dict(source='digits', data_dir='', probing='multidigits', num_digits=2, canvas=56)
    experiment = build(config, sharding.data_mesh(1))
    variables = jax.jit(experiment.init_state)(experiment.seed_key).variables
    with jax.set_mesh(experiment.mesh):
        local = panels.local_features(experiment, variables)
        layer = list(local.maps)[-1]
        pooled = embed_split(experiment, variables, 'test', layers=(layer,), limit=5)
        cropped = panels.local_features(experiment, variables, whole=False)
    assert list(local.maps) == ['block_group_1', 'block_group_2', 'block_group_3']
    means = local.maps[layer].mean(axis=(1, 2))
    np.testing.assert_allclose(means, pooled[f'layer_{layer}'], atol=1e-5)
    assert local.images.shape == (5, 56, 56, 1)
    assert all(maps.min() >= 0 for maps in local.maps.values())  # behind the ReLU
    assert set(np.unique(local.regions)) == {0, 1, 2}
    assert not local.images[local.regions == 0].any()  # all ink is within the squares
    assert local.images[local.regions == 2].any()
    assert cropped.regions is None


@pytest.mark.parametrize(
    ('loss', 'expected'),
    [
        (dict(name='nt_xent', temperature=0.3), 0.3),
        (dict(name='nt_xent', temperature=0.3, similarity='inner_product'), None),
        (dict(name='nt_xent', temperature=dict(initial=0.3)), None),
        (dict(name='box_info_nce', temperature=1.0), None),
        (dict(name='generalized_contrastive', prior='normal', temperature=1.0), None),
        (dict(name='simple_contrastive'), None),
    ],
)
def test_the_temperature_is_that_of_a_loss_of_cosines(loss, expected):
    assert panels.temperature_of(loss) == expected


@pytest.mark.parametrize(('side', 'after'), [(32, 32), (33, 16), (96, 32)])
def test_large_maps_are_averaged(side, after):
    maps = np.arange(2 * side * side * 3, dtype=np.float32).reshape(2, side, side, 3)
    found = panels.averaged(maps)
    assert found.shape == (2, after, after, 3)
    blocks = side // after
    np.testing.assert_allclose(
        found[1, 2, 1], maps[1, 2 * blocks : 3 * blocks, blocks : 2 * blocks].mean((0, 1))
    )
