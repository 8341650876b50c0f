"""Residual networks: official sizes, values against NumPy, what they expose, precision."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax.traverse_util import flatten_dict

from contrastive_jax import models
from contrastive_jax.errors import BadInput
from contrastive_jax.models.resnet import intermediates
from tests.models.resnet_reference import Reference

BLOCKS = sys.modules['contrastive_jax.models.resnet'].BLOCKS

# torchvision's, without the classifier; depth 200 is its own block counts in torchvision's class.
TORCHVISION_COUNTS = {
    18: 11_689_512 - 513_000,
    34: 21_797_672 - 513_000,
    50: 25_557_032 - 2_049_000,
    101: 44_549_160 - 2_049_000,
    152: 60_192_808 - 2_049_000,
    200: 62_624_832,
}
# Fact sheet of chen2021, section 6, from the official code.
SIMCLR_COUNTS = {
    (18, 'cifar'): 11_173_056,
    (18, 'imagenet'): 11_180_736,
    (50, 'cifar'): 23_500_352,
    (50, 'imagenet'): 23_508_032,
}
# Millions, as the official README lists SimCLRv2's: they count the batch statistics too.
SIMCLR_V2_MILLIONS = {
    (50, 1, False): 24,
    (50, 1, True): 35,
    (50, 2, False): 94,
    (50, 2, True): 140,
    (101, 1, False): 43,
    (101, 1, True): 65,
    (101, 2, False): 170,
    (101, 2, True): 257,
    (152, 1, False): 58,
    (152, 1, True): 89,
    (152, 2, False): 233,
    (152, 2, True): 354,
    (152, 3, True): 795,
}


def count(tree):
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


def shapes(**options):
    network = models.resnet(**{'head_layers': 0, **options})
    images = jnp.zeros((1, 32, 32, 3))
    return jax.eval_shape(lambda: network.init(jax.random.key(0), images, train=False))


@pytest.fixture
def few_blocks(monkeypatch):
    """Depths of few blocks, so that they compile fast; every kind of block is still there."""
    monkeypatch.setitem(BLOCKS, 18, (1, 2, 1, 1))
    monkeypatch.setitem(BLOCKS, 50, (1, 2, 1, 1))


def drawn(network, images, seed=0):
    """Variables with every leaf drawn, so that none hides a mistake."""
    tree = jax.eval_shape(lambda: network.init(jax.random.key(0), images, train=False))
    generator = np.random.default_rng(seed)

    def draw(path, leaf):
        name = path[-1].key
        if name == 'kernel':
            fan_in = np.prod(leaf.shape[:-1])
            return generator.normal(size=leaf.shape).astype(np.float32) / np.float32(fan_in**0.5)
        low, high = (0.5, 1.5) if name in ('scale', 'var') else (-0.3, 0.3)
        return generator.uniform(low, high, leaf.shape).astype(np.float32)

    return jax.tree_util.tree_map_with_path(draw, tree)


def draw_images(*shape):
    return np.random.default_rng(1).uniform(size=shape).astype(np.float32)


@pytest.mark.parametrize('depth', BLOCKS)
def test_torchvision_has_its_number_of_parameters(depth):
    assert count(shapes(depth=depth, variant='torchvision')['params']) == TORCHVISION_COUNTS[depth]


@pytest.mark.parametrize(
    'depth', [pytest.param(d, marks=pytest.mark.slow if d > 50 else []) for d in BLOCKS]
)
def test_simclr_has_torchvisions_parameters_and_one_projection_more_with_basic_blocks(depth):
    more = 64 * 64 + 2 * 64 if depth < 50 else 0
    assert count(shapes(depth=depth)['params']) == TORCHVISION_COUNTS[depth] + more


@pytest.mark.parametrize(('depth', 'stem'), SIMCLR_COUNTS)
def test_simclr_has_the_official_number_of_parameters(depth, stem):
    assert count(shapes(depth=depth, stem=stem)['params']) == SIMCLR_COUNTS[depth, stem]


@pytest.mark.parametrize(
    ('depth', 'width', 'selective_kernels'),
    [
        pytest.param(*case, marks=[] if case[0] == 50 else pytest.mark.slow)
        for case in SIMCLR_V2_MILLIONS
    ],
)
def test_widths_and_selective_kernels_have_simclr_v2s_sizes(depth, width, selective_kernels):
    tree = shapes(depth=depth, width=width, selective_kernels=selective_kernels)
    expected = SIMCLR_V2_MILLIONS[depth, width, selective_kernels]
    assert round(count(tree) / 1e6) == expected


@pytest.mark.parametrize(
    ('depth', 'stem', 'variant', 'selective_kernels', 'side'),
    [
        (18, 'imagenet', 'simclr', False, 24),
        (50, 'imagenet', 'simclr', True, 26),
        (50, 'cifar', 'torchvision', False, 9),
        pytest.param(18, 'imagenet', 'simclr', True, 24, marks=pytest.mark.slow),
        pytest.param(18, 'imagenet', 'simclr', False, 21, marks=pytest.mark.slow),
        pytest.param(50, 'cifar', 'simclr', True, 10, marks=pytest.mark.slow),
        pytest.param(18, 'imagenet', 'torchvision', False, 24, marks=pytest.mark.slow),
    ],
)
@pytest.mark.usefixtures('few_blocks')
def test_features_equal_those_of_numpy(depth, stem, variant, selective_kernels, side):
    form = dict(stem=stem, variant=variant, selective_kernels=selective_kernels)
    network = models.resnet(depth=depth, width=1 / 16, head_layers=0, **form)
    images = draw_images(2, side, side, 3)
    variables = drawn(network, images)
    h, z = jax.jit(lambda v: network.apply(v, images, train=False))(variables)
    reference = Reference(variables, blocks=BLOCKS[depth], bottleneck=depth == 50, **form)
    expected = reference(images)
    assert np.abs(expected).max() > 0.3
    np.testing.assert_allclose(h, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(z, h)


@pytest.mark.usefixtures('few_blocks')
def test_intermediates_explain_h():
    network = models.resnet(depth=18, width=1 / 16, stem='cifar', head_layers=1, dimensions=3)
    images = draw_images(2, 12, 12, 3)
    variables = drawn(network, images)
    kept, (h, _) = jax.jit(
        lambda v: (intermediates(network, v, images), network.apply(v, images, train=False))
    )(variables)
    assert {name: array.shape for name, array in kept.items()} == {
        'block_group_1': (2, 12, 12, 4),
        'block_group_2': (2, 6, 6, 8),
        'block_group_3': (2, 3, 3, 16),
        'block_group_4': (2, 2, 2, 32),
        'last_input': (2, 2, 2, 32),
        'last_branch': (2, 2, 2, 32),
    }
    last = np.maximum(kept['last_input'] + kept['last_branch'], 0)
    np.testing.assert_allclose(last, kept['block_group_4'], atol=1e-6)
    np.testing.assert_allclose(last.mean((1, 2)), h, atol=1e-5)


@pytest.mark.parametrize('depth', [18, 50])
@pytest.mark.parametrize('zero_last_scale', [True, False])
@pytest.mark.usefixtures('few_blocks')
def test_scale_of_the_last_batch_norm_of_each_block_starts_at_zero(depth, zero_last_scale):
    network = models.resnet(depth=depth, width=1 / 16, zero_last_scale=zero_last_scale)
    images = draw_images(1, 8, 8, 3)

    def scales():
        leaves = flatten_dict(network.init(jax.random.key(0), images, train=False)['params'])
        return {path[:-1]: leaf for path, leaf in leaves.items() if path[-1] == 'scale'}

    last = 'bn2' if depth == 18 else 'bn3'
    found = [(path, np.unique(leaf)) for path, leaf in jax.jit(scales)().items()]
    at_zero = {path for path, values in found if values.tolist() == [0]}
    expected = {path for path, _ in found if path[0].startswith('layer') and path[1] == last}
    assert at_zero == (expected if zero_last_scale else set())
    assert all(values.tolist() == [1] for path, values in found if path not in at_zero)


@pytest.mark.parametrize(
    ('variant', 'deviation'), [('simclr', (1 / 147) ** 0.5), ('torchvision', (2 / 3136) ** 0.5)]
)
@pytest.mark.usefixtures('few_blocks')
def test_kernels_start_from_the_variants_law(variant, deviation):
    # The stem: 7 * 7 * 3 inputs, 7 * 7 * 64 outputs, 9,408 draws: 0.7 % standard error.
    network = models.resnet(depth=18, variant=variant, head_layers=0)
    images = draw_images(1, 8, 8, 3)
    kernel = jax.jit(
        lambda: network.init(jax.random.key(0), images, train=False)['params']['conv1']['kernel']
    )()
    assert kernel.shape == (7, 7, 3, 64)
    np.testing.assert_allclose(np.std(kernel), deviation, rtol=0.03)


@pytest.mark.parametrize('dtype', ['float32', 'bfloat16'])
@pytest.mark.parametrize('selective_kernels', [False, True])
def test_activations_have_the_dtype_and_all_else_is_float32(dtype, selective_kernels):
    network = models.resnet(depth=50, dtype=dtype, selective_kernels=selective_kernels)
    images = jnp.zeros((2, 32, 32, 3))

    def train():
        variables = network.init(jax.random.key(0), images, train=False)
        mutable = ['batch_stats', 'intermediates']
        return variables['params'], network.apply(variables, images, train=True, mutable=mutable)

    params, (outputs, updated) = jax.eval_shape(train)
    kept = updated.pop('intermediates')
    assert {array.dtype for array in jax.tree.leaves(kept)} == {jnp.dtype(dtype)}
    leaves = jax.tree.leaves((params, outputs, updated))
    assert {leaf.dtype for leaf in leaves} == {jnp.dtype('float32')}


@pytest.mark.usefixtures('few_blocks')
def test_bfloat16_gives_about_the_features_of_float32():
    images = draw_images(2, 16, 16, 3)

    def features(dtype):
        network = models.resnet(depth=18, width=1 / 16, dtype=dtype, head_layers=0)
        return jax.jit(lambda v: network.apply(v, images, train=False)[0])(drawn(network, images))

    full, half = features('float32'), features('bfloat16')
    # bfloat16 rounds to 1 part in 256.
    assert 1e-5 < np.abs(full - half).mean() < 0.03 * np.abs(full).mean()


@pytest.mark.slow
@pytest.mark.usefixtures('few_blocks')
def test_training_moves_every_parameter_and_average():
    network = models.resnet(depth=50, width=1 / 16, stem='cifar', head_layers=3, dimensions=3)
    images = draw_images(6, 8, 8, 3)
    variables = drawn(network, images)

    @jax.jit
    def step(params):
        def objective(params):
            (_, z), updated = network.apply(
                {**variables, 'params': params}, images, train=True, mutable=['batch_stats']
            )
            return jnp.sum(jnp.sin(z)), updated['batch_stats']

        return jax.grad(objective, has_aux=True)(params)

    gradient, batch_stats = step(variables['params'])
    assert min(np.abs(leaf).max() for leaf in jax.tree.leaves(gradient)) > 1e-4
    moved = jax.tree.map(lambda a, b: np.abs(a - b).max(), batch_stats, variables['batch_stats'])
    assert min(jax.tree.leaves(moved)) > 1e-4


def test_half_width_halves_the_features():
    network = models.resnet(depth=18, width=0.5)
    images = jnp.zeros((1, 32, 32, 2))
    h, z = jax.eval_shape(
        lambda: network.init_with_output(jax.random.key(0), images, train=False)[0]
    )
    assert (h.shape, z.shape) == ((1, 256), (1, 128))


@pytest.mark.parametrize(
    ('options', 'sentence'),
    [
        ({'depth': 20}, r'config.model.depth is 20, not one of: 18, 34, 50, 101, 152, 200\.'),
        ({'stem': 'mnist'}, "config.model.stem is 'mnist', not one of: imagenet, cifar"),
        ({'variant': 'v2'}, "config.model.variant is 'v2', not one of: simclr, torchvision"),
        ({'dtype': 'float16'}, "config.model.dtype is 'float16', not one of: float32, bfloat16"),
        ({'width': 0}, 'config.model.width is 0; 64 times it must be a whole number of at least 2'),
        ({'width': 1 / 3}, 'config.model.width is 0.33.*; 64 times it must be a whole number'),
        ({'width': -1}, 'config.model.width is -1; 64 times it must be a whole number'),
        (
            {'selective_kernels': True, 'variant': 'torchvision'},
            "config.model.selective_kernels is True, which .* 'torchvision' does not have; use",
        ),
    ],
)
def test_options_that_cannot_be(options, sentence):
    with pytest.raises(BadInput, match=sentence):
        models.resnet(**options)


def test_vectors_are_not_images():
    network = models.resnet(depth=18)
    with pytest.raises(ValueError, match=r'resnet needs images \[n, h, w, c\], got the shape'):
        jax.eval_shape(lambda: network.init(jax.random.key(0), jnp.zeros((2, 10)), train=False))
