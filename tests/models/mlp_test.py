"""The multilayer perceptron: its layers by hand."""

import jax
import numpy as np
import pytest

from contrastive_jax import models
from contrastive_jax.errors import BadInput


def test_layers_are_dense_with_a_leaky_relu_between():
    network = models.mlp(widths=(7, 5), head_widths=(3,), slope=0.1)
    images = np.random.default_rng(0).normal(size=(4, 1, 2, 3)).astype(np.float32)
    variables = network.init(jax.random.key(0), images, train=True)
    h, z = network.apply(variables, images, train=True)
    hidden, layers = images.reshape(4, 6), list(jax.device_get(variables['params']).values())
    for layer in layers[:2]:
        hidden = hidden @ layer['kernel'] + layer['bias']
        hidden = np.where(hidden < 0, 0.1 * hidden, hidden)
    np.testing.assert_allclose(h, hidden, atol=1e-5)
    np.testing.assert_allclose(z, hidden @ layers[2]['kernel'] + layers[2]['bias'], atol=1e-5)


def test_without_head_or_biases_one_layer_is_a_linear_map():
    network = models.mlp(widths=(8,), head_widths=(), use_bias=False)
    images = np.eye(8, dtype=np.float32).reshape(8, 1, 1, 8)
    variables = network.init(jax.random.key(0), images, train=False)
    h, z = network.apply(variables, images, train=False)
    kernel = variables['params']['Dense_0']['kernel']
    np.testing.assert_allclose(h, kernel, atol=1e-6)
    np.testing.assert_array_equal(h, z)


def test_widths_that_cannot_be():
    with pytest.raises(BadInput, match='every width must be at least 1'):
        models.mlp(widths=())
    with pytest.raises(BadInput, match='every width must be at least 1'):
        models.mlp(head_widths=(0,))
