"""Any layer of any network can be read."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax import models
from contrastive_jax.errors import BadInput
from contrastive_jax.models.layers import layer_outputs, layers_before_features, main_layers
from contrastive_jax.models.resnet import intermediates

IMAGES = jax.random.uniform(jax.random.key(0), (2, 8, 8, 3))


@pytest.mark.slow
def test_the_block_groups_of_a_resnet_by_name():
    network = models.resnet(depth=18, width=1 / 16, stem='cifar', dimensions=3)
    variables = network.init(jax.random.key(1), IMAGES, train=False)
    inside = intermediates(network, variables, IMAGES)
    names = ['block_group_2', 'layer2_1/conv1']
    maps = layer_outputs(network, variables, IMAGES, names, pooled=False)
    assert list(maps) == names
    np.testing.assert_array_equal(maps['block_group_2'], inside['block_group_2'])
    pooled = layer_outputs(network, variables, IMAGES, ['block_group_4'])['block_group_4']
    h, _ = network.apply(variables, IMAGES, train=False)
    np.testing.assert_allclose(pooled, h, rtol=1e-6)


def test_every_dense_layer_of_an_mlp():
    network = models.mlp(widths=(5, 4), head_widths=(3,))
    variables = network.init(jax.random.key(1), IMAGES, train=False)
    found = layer_outputs(network, variables, IMAGES)
    assert {rows.shape for rows in found.values()} >= {(2, 5), (2, 4), (2, 3)}
    _, z = network.apply(variables, IMAGES, train=False)
    assert any(rows.shape == z.shape and jnp.array_equal(rows, z) for rows in found.values())


@pytest.mark.parametrize(
    ('network', 'side', 'expected'),
    [
        (models.mlp(widths=(2,) * 11, head_widths=()), 8, [f'Dense_{i}' for i in range(11)]),
        (
            models.convnet(channels=(2, 2), features=3, head_widths=(2, 2)),
            8,
            ['block_group_1', 'block_group_2'],
        ),
        (
            models.resnet(depth=18, width=1 / 16, stem='cifar', dimensions=3),
            8,
            [f'block_group_{i}' for i in range(1, 5)],
        ),
    ],
)
def test_the_main_layers_of_each_network_first_to_last(network, side, expected):
    images = jax.ShapeDtypeStruct((1, side, side, 3), jnp.float32)
    key = jax.random.key(0)
    variables = jax.eval_shape(lambda x: network.init(key, x, train=False), images)
    found = jax.eval_shape(lambda v, x: layer_outputs(network, v, x), variables, images)
    assert main_layers(found) == expected


def test_a_network_of_other_layers_has_no_main_ones():
    assert main_layers(['Transformer_0', 'head']) == []


def test_an_unknown_layer_is_refused_with_the_names_there_are():
    network = models.mlp(widths=(5,), head_widths=(3,))
    variables = network.init(jax.random.key(1), IMAGES, train=False)
    with pytest.raises(BadInput, match="no layer 'conv1', but: "):
        layer_outputs(network, variables, IMAGES, ['conv1'])


@pytest.mark.parametrize('head', [(6, 7, 3), ()])
def test_layers_behind_h_are_of_the_head(head):
    network = models.mlp(widths=(4, 5), head_widths=head)
    variables = network.init(jax.random.key(1), IMAGES, train=False)
    layers = main_layers(layer_outputs(network, variables, IMAGES))
    assert len(layers) == 2 + len(head)
    found = layers_before_features(network, variables, IMAGES[:1], layers)
    assert found == ['Dense_0', 'Dense_1']
    # What holds no parameters stands before the features.
    assert layers_before_features(network, variables, IMAGES[:1], ['block_group_1']) == [
        'block_group_1'
    ]
