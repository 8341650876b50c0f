"""Projection heads: the official one and the one without batch norm, by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.errors import BadInput
from contrastive_jax.models.heads import projection_head


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def drawn(head, h):
    """Parameters of a head, drawn leaf by leaf, and the names of its collections."""
    tree = jax.eval_shape(lambda: head.init(jax.random.key(0), h, train=False))
    return jax.tree.map(lambda leaf: draw(leaf.size, *leaf.shape), tree['params']), set(tree)


# Fact sheet of chen2021, section 6, from the official code.
@pytest.mark.parametrize(
    ('features', 'layers', 'dimensions', 'parameters'),
    [
        (512, 2, 64, 296_000),
        (2048, 2, 64, 4_329_536),
        (2048, 2, 128, 4_460_672),
        (2048, 3, 128, 8_659_072),
        (2048, 4, 128, 12_857_472),
    ],
)
def test_official_head_has_its_number_of_parameters(features, layers, dimensions, parameters):
    head = projection_head(layers, None, dimensions, True)(features)
    tree = jax.eval_shape(
        lambda: head.init(jax.random.key(0), jnp.zeros((1, features)), train=False)
    )
    assert sum(leaf.size for leaf in jax.tree.leaves(tree['params'])) == parameters


def normalised(x, scale, bias=0.0):
    return (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) * scale + bias


@pytest.mark.parametrize('layers', [1, 2, 3])
def test_official_head_by_hand(layers):
    h = draw(0, 8, 6)
    head = projection_head(layers, 5, 3, True)(6)
    params, _ = drawn(head, h)
    z, _ = jax.jit(lambda p: head.apply({'params': p}, h, train=True, mutable=['batch_stats']))(
        params
    )
    hidden = np.float64(h)
    for number in range(layers):
        assert set(params[f'Dense_{number}']) == {'kernel'}
        assert params[f'Dense_{number}']['kernel'].shape[1] == (5 if number < layers - 1 else 3)
        hidden = hidden @ params[f'Dense_{number}']['kernel']
        norm = params[f'BatchNorm_{number}']
        assert set(norm) == ({'scale', 'bias'} if number < layers - 1 else {'scale'})
        hidden = normalised(hidden, **norm)
        if number < layers - 1:
            hidden = np.maximum(hidden, 0)
    assert hidden.shape == (8, 3)
    np.testing.assert_allclose(z, hidden, atol=5e-5)


def test_official_head_starts_small_and_as_wide_as_h():
    head = projection_head(2, None, 8, True)(128)
    params = head.init(jax.random.key(0), jnp.zeros((1, 128)), train=False)['params']
    assert params['Dense_0']['kernel'].shape == (128, 128)
    assert abs(np.std(params['Dense_0']['kernel']) - 0.01) < 2e-4
    assert abs(np.mean(params['Dense_0']['kernel'])) < 4e-4


@pytest.mark.parametrize('layers', [1, 2, 4])
def test_head_without_batch_norm_by_hand(layers):
    h = draw(0, 4, 6)
    head = projection_head(layers, None, 3, False)(6)
    params, collections = drawn(head, h)
    assert collections == {'params'}
    assert set(params) == {f'Dense_{number}' for number in range(layers)}
    hidden = np.float64(h)
    for number in range(layers):
        layer = params[f'Dense_{number}']
        hidden = hidden @ layer['kernel'] + layer['bias']
        if number < layers - 1:
            hidden = np.maximum(hidden, 0)
    z = head.apply({'params': params}, h, train=True)
    np.testing.assert_allclose(z, hidden, rtol=1e-5, atol=1e-4)


def test_no_layers_are_no_head():
    assert projection_head(0, None, 128, True) is None


@pytest.mark.parametrize(
    ('arguments', 'sentence'),
    [
        ((-1, None, 128, True), 'config.model.head_layers is -1; it must be at least 0'),
        ((2, None, 0, True), 'config.model.dimensions is 0 and head_width None; each must be at'),
        ((2, 0, 128, False), 'config.model.dimensions is 128 and head_width 0; each must be at'),
    ],
)
def test_heads_that_cannot_be(arguments, sentence):
    with pytest.raises(BadInput, match=sentence):
        projection_head(*arguments)
