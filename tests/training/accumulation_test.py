"""Micro-batches: the gradient of the whole batch, in less memory, without moving an image."""

import re

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax import losses, models, sharding
from contrastive_jax.errors import BadInput
from contrastive_jax.training import accumulation
from contrastive_jax.training.build import build
from contrastive_jax.training.shapes import batch_shapes


def apply(model):
    return lambda params, images: model.apply({'params': params}, images, train=True)[1]


def nt_xent(z):
    return losses.nt_xent(z[::2], z[1::2], temperature=0.2)


def direct(apply, params, images, loss):
    return jax.value_and_grad(lambda params: loss(apply(params, images)), has_aux=True)(params)


class ConvNet(nn.Module):
    """Without batch norm."""

    @nn.compact
    def __call__(self, images, train):
        hidden = nn.relu(nn.Conv(4, (3, 3), strides=2)(images))
        hidden = hidden.reshape(len(hidden), -1)
        return hidden, nn.Dense(3)(hidden)


def close(tree, expected):
    for leaf, other in zip(jax.tree.leaves(tree), jax.tree.leaves(expected), strict=True):
        largest = max(1e-3, float(jnp.max(jnp.abs(other))))
        np.testing.assert_allclose(leaf, other, rtol=0, atol=2e-6 * largest)


@pytest.mark.parametrize(
    ('model', 'devices', 'number'),
    [(ConvNet(), 4, 3), (models.mlp(widths=(8, 8), head_widths=(4,)), 1, 16)],
)
def test_micro_batches_give_the_gradient_of_the_batch(model, devices, number, key):
    images = jax.random.normal(key, (48, 6, 6, 1))
    params = jax.jit(lambda: model.init(key, images[:1], train=True)['params'])()
    expected = jax.jit(lambda *given: direct(apply(model), *given, nt_xent))(params, images)
    mesh = sharding.data_mesh(devices)
    images = jax.device_put(images, sharding.batch_sharding(mesh))
    params = jax.device_put(params, sharding.replicated(mesh))

    @jax.jit
    def in_parts(params, images):
        return accumulation.value_and_gradient(apply(model), params, images, nt_xent, number)

    with jax.set_mesh(mesh):
        close(in_parts(params, images), expected)


def test_the_mean_of_the_gradients_of_the_parts_is_another(key):
    # What the caching of embeddings is for: fewer negatives are another loss.
    images, params = jax.random.normal(key, (16, 6)), jnp.eye(6, 4)

    @jax.jit
    def gradient(images):
        return direct(lambda params, images: images @ params, params, images, nt_xent)[1]

    first, second = (gradient(half) for half in jnp.split(images, 2))
    with pytest.raises(AssertionError):
        close((first + second) / 2, gradient(images))


def test_memory_is_that_of_a_micro_batch():
    model = models.mlp(widths=(64,) * 8, head_widths=(4,))
    images = jax.ShapeDtypeStruct((4096, 16), 'float32')
    params = jax.eval_shape(
        lambda: model.init(jax.random.key(0), jnp.zeros(images.shape), train=True)['params']
    )

    def squares(z):
        return jnp.mean(z**2), {}

    def temporaries(function):
        compiled = jax.jit(function).lower(params, images).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    whole = temporaries(lambda *given: direct(apply(model), *given, squares))
    parts = temporaries(
        lambda *given: accumulation.value_and_gradient(apply(model), *given, squares, 16)
    )
    # All of 4096 rows' activations and their gradients, against a sixteenth of them.
    assert whole > 4096 * 64 * 8 * 4
    assert parts < whole / 4


@pytest.fixture
def accumulating(config):
    config.batch_size = 32
    config.model = dict(name='mlp', widths=(16, 16), head_widths=(8,))
    config.optimizer = dict(
        name='sgd', learning_rate=0.1, schedule='plateau', window=1, accumulate=4
    )
    return config


def compiled_step(experiment, batch_size):
    whole, rows = sharding.replicated(experiment.mesh), sharding.batch_sharding(experiment.mesh)
    state = jax.eval_shape(experiment.init_state, experiment.seed_key)
    with jax.set_mesh(experiment.mesh):
        return (
            jax.jit(experiment.train_step, in_shardings=(whole, rows, whole, whole))
            .lower(state, batch_shapes(experiment.train, batch_size), {}, experiment.seed_key)
            .compile()
        )


@pytest.mark.slow
def test_a_step_in_micro_batches_is_the_step_and_moves_no_image(accumulating):
    results = []
    for number in (4, 1):
        accumulating.optimizer.accumulate = number
        experiment = build(accumulating)
        step = compiled_step(experiment, accumulating.batch_size)
        state = jax.jit(experiment.init_state, out_shardings=sharding.replicated(experiment.mesh))(
            experiment.seed_key
        )
        rows = np.arange(accumulating.batch_size)
        batch = {
            'image': np.stack([experiment.train.source[k]['image'] for k in rows]),
            'label': np.zeros(len(rows), np.int32),
            'id': rows.astype(np.int32),
        }
        batch = sharding.to_devices(batch, experiment.mesh)
        results.append(step(state, batch, {}, experiment.seed_key))
        if number > 1:
            program = step.as_text()
    close(*results)
    moved = [
        line for line in program.splitlines()
        if re.search(r' (all-\w+|reduce-scatter|collective-permute)(-start)?\(', line)
    ]  # fmt: skip
    assert any('all-reduce' in line for line in moved)
    for line in moved:
        assert '28,28' not in line.split('=')[1].split('(')[0], line
    bodies = re.findall(r'body=%([\w.\-]+)', program)
    assert bodies
    for body in bodies:
        text = program.split(f'\n%{body} ')[1].split('\n}')[0]
        assert not re.search('all-gather|all-reduce|reduce-scatter|all-to-all|permute', text)


@pytest.mark.parametrize('number', [0, -1, 3, 16, 2.0, 'all', True])
def test_a_number_that_does_not_divide_the_batch_is_refused(accumulating, number):
    accumulating.optimizer = {**accumulating.optimizer, 'accumulate': number}
    sentence = f'config.optimizer.accumulate is {number!r}.* 32 / 4 = 8, .*one of: 1, 2, 4, 8'
    with pytest.raises(BadInput, match=sentence):
        build(accumulating)


def test_batch_norm_is_refused_with_the_reason(config):
    config.batch_size = 32
    config.optimizer = {**config.optimizer, 'accumulate': 2}
    sentence = 'config.optimizer.accumulate is 2, but the model has batch norm, whose statistics'
    with pytest.raises(BadInput, match=sentence):
        build(config)
