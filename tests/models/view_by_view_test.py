"""Each view by itself: what its batch norm saw, and that nothing else changes."""

import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ml_collections import ConfigDict

from configs.chen2021 import randbit_digits
from contrastive_jax import models
from contrastive_jax.errors import BadInput
from contrastive_jax.models.view_by_view import ViewByView
from contrastive_jax.training.build import build

MOMENTUM = 0.9


class Normalized(nn.Module):
    """Batch norm and nothing else."""

    @nn.compact
    def __call__(self, images, train):
        norm = functools.partial(nn.BatchNorm, momentum=MOMENTUM, use_running_average=not train)
        rows = norm()(images)
        return rows, 2 * rows


def test_each_view_is_normalised_by_itself_and_the_average_moves_once_for_each():
    images = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)
    images[1::2] = 5 * images[1::2] + 2
    network = ViewByView(Normalized())
    variables = network.init(jax.random.key(0), images, train=False)
    (h, z), updated = network.apply(variables, images, train=True, mutable=['batch_stats'])
    (average,) = [
        leaf for path, leaf in jax.tree_util.tree_leaves_with_path(updated) if 'mean' in str(path)
    ]
    expected = np.zeros(3)
    for view in range(2):
        rows = images[view::2]
        mean = rows.mean(axis=0)
        expected = MOMENTUM * expected + (1 - MOMENTUM) * mean
        own = (rows - mean) / np.sqrt(rows.var(axis=0) + 1e-5)
        np.testing.assert_allclose(h[view::2], own, atol=1e-5)
    np.testing.assert_allclose(average, expected, rtol=1e-5)
    np.testing.assert_allclose(z, 2 * h)


def test_without_batch_norm_and_in_inference_it_is_the_network():
    images = jax.random.normal(jax.random.key(0), (6, 4, 4, 1))
    for network, train in (
        (models.mlp(widths=(5,), head_widths=(3,)), True),
        (models.convnet(channels=(2,), features=3, head_widths=(4, 2)), False),
    ):
        inner = network.init(jax.random.key(1), images, train=False)
        around = {kind: {'network': tree} for kind, tree in inner.items()}
        expected = network.apply(inner, images, train)
        found = ViewByView(network).apply(around, images, train)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)
            assert one.dtype == jnp.float32


def test_a_config_asks_for_it_where_a_loss_has_two_views():
    config = randbit_digits.get_config('smoke')
    config.model.view_by_view = True
    assert isinstance(build(config).model, ViewByView)
    config.loss = ConfigDict(dict(name='supcon', temperature=0.1))
    with pytest.raises(BadInput, match='config.model.view_by_view is True, which is for losses'):
        build(config)
    config.loss = ConfigDict(dict(name='nt_xent', temperature=0.1))
    config.model = ConfigDict(dict(name='convnet', view_by_view='yes'))
    with pytest.raises(BadInput, match="config.model.view_by_view is 'yes'; it must be True or"):
        build(config)


def test_a_loss_of_the_user_names_its_two_views_as_it_likes():
    config = randbit_digits.get_config('smoke')
    config.model.view_by_view = True
    config.loss = ConfigDict(dict(name=apart))
    assert isinstance(build(config).model, ViewByView)


def apart(first, second):
    return jnp.mean(jnp.square(first - second))
