"""The notebook's network: sizes, forms of its convolution, batch norm."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from configs.chen2021 import randbit_digits
from contrastive_jax import models
from contrastive_jax.errors import BadInput
from contrastive_jax.models import convolution
from contrastive_jax.training.build import build


def count(tree):
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


@pytest.mark.parametrize('num_bits', [0, 5])
def test_parameter_count_is_that_of_the_notebook(num_bits):
    # 139,882 with the classifier's 128 x 10 + 10, and 288 for each bit channel: fact sheet of
    # chen2021, section 3.
    network = models.convnet()
    variables = network.init(jax.random.key(0), jnp.zeros((1, 28, 28, 1 + num_bits)), train=False)
    assert count(variables['params']) == 139_882 - 1_290 + 288 * num_bits


def test_output_shapes():
    network = models.convnet()
    images = jnp.ones((3, 28, 28, 2))
    variables = network.init(jax.random.key(0), images, train=False)
    h, z = network.apply(variables, images, train=False)
    assert h.shape == (3, 128)
    assert z.shape == (3, 64)


@pytest.mark.parametrize('shape', [(2, 28, 28, 3), (1, 13, 14, 5), (3, 3, 3, 1), (2, 6, 5, 2)])
@pytest.mark.parametrize('stride', [1, 2, 3])
def test_patches_equal_the_convolution_in_value_and_gradient(shape, stride):
    generator = np.random.default_rng(0)
    images = jnp.asarray(generator.normal(size=shape), jnp.float32)
    kernel = jnp.asarray(generator.normal(size=(3, 3, shape[-1], 4)), jnp.float32)

    def value_and_gradient(form):
        def scalar(images, kernel):
            output = form(images, kernel, stride)
            return jnp.sum(jnp.sin(output)), output

        return jax.value_and_grad(scalar, argnums=(0, 1), has_aux=True)(images, kernel)

    patches = value_and_gradient(convolution.by_patches)
    plain = value_and_gradient(convolution.by_convolution)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-4), patches, plain)


def test_the_cpu_takes_patches_and_the_tpu_the_convolution():
    layer = convolution.Convolution(4, kernel_size=3, stride=2)
    images = jnp.ones((2, 9, 9, 3))
    variables = layer.init(jax.random.key(0), images)
    traced = jax.jit(layer.apply).trace(variables, images)
    assert 'stablehlo.convolution' not in traced.lower(lowering_platforms=('cpu',)).as_text()
    assert 'stablehlo.convolution' in traced.lower(lowering_platforms=('tpu',)).as_text()


@pytest.mark.parametrize('constant_channels', [1, 3])
def test_constant_channels_are_convolved_once_an_image_with_equal_outputs(constant_channels):
    generator = np.random.default_rng(0)
    places = jnp.asarray(generator.normal(size=(4, 9, 8, 2)), jnp.float32)
    constant = jnp.asarray(generator.normal(size=(4, 1, 1, constant_channels)), jnp.float32)
    images = jnp.concatenate(
        [places, jnp.broadcast_to(constant, (4, 9, 8, constant_channels))], axis=-1
    )
    plain = convolution.Convolution(5, 3, 2)
    variables = plain.init(jax.random.key(0), images)

    def value_and_gradient(layer):
        return jax.value_and_grad(lambda given: jnp.sum(jnp.sin(layer.apply(given, images))))(
            variables
        )

    expected = value_and_gradient(plain)
    found = value_and_gradient(
        convolution.Convolution(5, 3, 2, constant_channels=constant_channels)
    )
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4), found, expected)


@pytest.mark.parametrize('count', [-1, 2])
def test_not_all_channels_are_constant(count):
    layer = convolution.Convolution(5, 3, 2, constant_channels=count)
    with pytest.raises(ValueError, match=f'constant_channels is {count}; .* one of 0..1'):
        layer.init(jax.random.key(0), jnp.ones((1, 9, 9, 2)))


def test_the_dataset_tells_the_network_how_many_channels_are_constant():
    config = randbit_digits.get_config('smoke')
    for num_bits in (0, 3):
        config.data.num_bits = num_bits
        assert build(config).model.constant_channels == num_bits
    config.model.constant_channels = 2
    with pytest.raises(BadInput, match='config.model.constant_channels is not an option of conv'):
        build(config)


def test_each_of_two_encoders_knows_the_constant_channels_that_both_see():
    config = randbit_digits.get_config('smoke')
    config.data.update(source='noise:40,size=16,channels=3', num_bits=2)
    config.views = dict(name='luminance', beside='colour')
    config.loss = dict(name='contrastive_multiview_coding', temperature=0.2)
    config.evaluation = dict(name='linear_probe', factor='code')
    model = build(config).model
    assert [encoder.constant_channels for encoder in (model.first, model.second)] == [2, 2]


def test_training_uses_the_batch_and_moves_the_averages():
    network = models.convnet(channels=(4, 4, 4), features=8, head_widths=(8, 4), momentum=0.5)
    images = jax.random.uniform(jax.random.key(1), (16, 28, 28, 1))
    variables = network.init(jax.random.key(0), images, train=False)
    (h, _), updated = network.apply(variables, images, train=True, mutable=['batch_stats'])
    before, after = variables['batch_stats'], updated['batch_stats']
    assert not np.allclose(before['BatchNorm_0']['mean'], after['BatchNorm_0']['mean'])
    inference, _ = network.apply(variables, images, train=False)
    assert not np.allclose(h, inference, atol=1e-3)


def test_the_mean_over_places_does_not_tell_where_something_stands():
    network = models.convnet(channels=(4, 4), features=8, head_widths=(4,), average_places=True)
    picture = jax.random.uniform(jax.random.key(1), (5, 5, 1))
    # Two strides of 2: moved by 4 pixels, away from the borders, every place is another's.
    images = jnp.stack(
        [
            jnp.zeros((28, 28, 1)).at[i : i + 5, j : j + 5].set(picture)
            for i, j in [(8, 8), (12, 16)]
        ]
    )
    variables = network.init(jax.random.key(0), images, train=False)
    assert variables['params']['Dense_0']['kernel'].shape == (4, 8)
    (first, second), _ = network.apply(variables, images, train=False)
    np.testing.assert_allclose(first, second, rtol=1e-5)
    assert np.ptp(first) > 0


def test_an_image_too_small_is_one_sentence():
    network = models.convnet()
    with pytest.raises(ValueError, match='at least 15 x 15 pixels for its 3 convolutions, got 1 x'):
        network.init(jax.random.key(0), jnp.zeros((1, 1, 2, 1)), train=False)
    small = jax.eval_shape(
        lambda: network.init(jax.random.key(0), jnp.zeros((1, 15, 15, 1)), train=False)
    )
    assert small['params']
