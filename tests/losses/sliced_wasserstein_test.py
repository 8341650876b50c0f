"""Sliced Wasserstein: exact against loops in float64, on ties, on any devices, by any sort."""

import functools
import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from contrastive_jax.losses.sliced_wasserstein import (
    _ordered_bits,
    _sort_packed,
    _sort_pairs,
    _unsort_by_scatter,
    _unsort_by_sort,
    random_projections,
    sliced_wasserstein,
    sort_rows,
)

# Chen 2021's notebook at H[i,j] = sin(0.7 (i+1)(j+1)) and P[i,j] = cos(0.3 (i+1)(j+2)).
ROW, COLUMN = np.mgrid[1:9, 1:6]
GOLDEN_STATES = np.sin(0.7 * ROW * COLUMN)
GOLDEN_PRIOR = np.cos(0.3 * ROW * (COLUMN + 1))
REFLECTED = np.arange(1.0, 6.0)
HOUSEHOLDER = np.eye(5) - 2 * np.outer(REFLECTED, REFLECTED) / (REFLECTED @ REFLECTED)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


# Jitted: one compilation costs less than an eager call's many.
value_and_gradients = jax.jit(jax.value_and_grad(sliced_wasserstein, (0, 1, 2)))
project = jax.jit(random_projections, static_argnums=(0, 1), static_argnames='kind')


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def arrays(*values):
    return [jnp.asarray(value, jnp.float32) for value in values]


def loop_distance(samples, prior_samples, projections):
    """Float64, every pair of quantiles: each sample repeated until both sides are as many."""
    m, k = len(samples), len(prior_samples)
    common = math.lcm(m, k)
    total = 0.0
    for direction in projections.T:
        left = sorted(float(row @ direction) for row in samples for _ in range(common // m))
        right = sorted(float(row @ direction) for row in prior_samples for _ in range(common // k))
        total += sum((a - b) ** 2 for a, b in zip(left, right, strict=True)) / common
    return total / projections.shape[1]


def numeric_gradient(function, point, step=1e-6):
    gradient = np.zeros_like(point)
    for position in np.ndindex(*point.shape):
        moved = [point.copy(), point.copy()]
        moved[0][position] += step
        moved[1][position] -= step
        gradient[position] = (function(moved[0]) - function(moved[1])) / (2 * step)
    return gradient


@pytest.mark.parametrize(('m', 'k', 'p'), [(8, 8, 5), (7, 7, 3), (8, 5, 4), (3, 12, 2), (1, 6, 1)])
def test_equals_the_loop_in_value_and_in_all_three_gradients(m, k, p):
    inputs = draw(0, m, 5), draw(1, k, 5), draw(2, 5, p)
    value, gradients = value_and_gradients(*arrays(*inputs))
    np.testing.assert_allclose(value, loop_distance(*inputs), rtol=2e-6)
    for place, gradient in enumerate(gradients):

        def moved(point, place=place):
            return loop_distance(*inputs[:place], point, *inputs[place + 1 :])

        expected = numeric_gradient(moved, inputs[place])
        np.testing.assert_allclose(gradient, expected, atol=2e-6 * np.abs(expected).max())


def test_golden_values_of_the_notebook():
    for projections, raw, normalised in (
        (np.eye(5), 0.06265987, 0.02160002),
        (HOUSEHOLDER, 0.11562710, 0.04122039),
    ):
        value = sliced_wasserstein(*arrays(GOLDEN_STATES, GOLDEN_PRIOR, projections))
        np.testing.assert_allclose(value, raw, rtol=1e-6)
        rows = arrays(unit(GOLDEN_STATES), unit(GOLDEN_PRIOR), projections)
        np.testing.assert_allclose(sliced_wasserstein(*rows), normalised, rtol=1e-6)


def test_a_shift_costs_its_squared_length_over_the_dimensions(key):
    samples, shift = draw(0, 50, 6), draw(1, 1, 6)
    projections = project(6, 6, key=key)
    value = sliced_wasserstein(*arrays(samples, samples[::-1] + shift), projections)
    np.testing.assert_allclose(value, np.sum(shift**2) / 6, rtol=1e-5)
    assert sliced_wasserstein(*arrays(samples, samples[::-1]), projections) < 1e-12


def test_gradient_moves_each_sample_to_its_own_quantile():
    """Along one direction: 2 (x_i - matched prior) / m, for samples in no order."""
    samples, prior_samples = draw(0, 9, 1).astype(np.float32), draw(1, 9, 1).astype(np.float32)
    gradient = jax.grad(sliced_wasserstein)(*arrays(samples, prior_samples, np.eye(1)))
    rank = np.argsort(np.argsort(samples[:, 0]))
    matched = np.sort(prior_samples[:, 0])[rank]
    np.testing.assert_allclose(gradient[:, 0], 2 * (samples[:, 0] - matched) / 9, rtol=1e-5)


def test_second_derivatives_are_those_of_a_fixed_pairing():
    """The gradient is 2 (x - matched) / (m d) there, so its squared length has 4 / (m d) of it."""
    samples, others = arrays(draw(0, 8, 4))[0], arrays(draw(1, 8, 4), np.eye(4))

    def gradient(samples):
        return jax.grad(sliced_wasserstein)(samples, *others)

    second = jax.jit(jax.grad(lambda samples: jnp.sum(gradient(samples) ** 2)))(samples)
    np.testing.assert_allclose(second, 4 * gradient(samples) / 32, atol=1e-7)


def test_ties_and_both_zeros_are_sorted_in_place():
    values = np.array([[1, 0.0, -0.0, 1, -2, 0.0, -np.inf, np.inf, -2, -0.0]], np.float32)
    order = np.argsort(values, axis=1, kind='stable')
    incoming = np.arange(10, dtype=np.float32)[None]
    sorted_values, pull_back = jax.vjp(sort_rows, jnp.asarray(values))
    np.testing.assert_array_equal(sorted_values, np.sort(values, axis=1))
    np.testing.assert_array_equal(sort_rows(jnp.asarray(values)), np.sort(values, axis=1))
    expected = np.zeros_like(incoming)
    expected[:, order[0]] = incoming
    np.testing.assert_array_equal(pull_back(jnp.asarray(incoming))[0], expected)


def test_samples_that_repeat_keep_the_value_and_the_sum_of_the_gradient():
    """Binary codes tie in every direction; the rank sort of the notebook fails on them."""
    samples = np.random.default_rng(0).integers(0, 2, (64, 4)).astype(float)
    inputs = samples, draw(1, 64, 4), np.eye(4)
    value, (gradient, *_) = value_and_gradients(*arrays(*inputs))
    np.testing.assert_allclose(value, loop_distance(*inputs), rtol=1e-6)
    expected = 2 * (samples.sum(0) - inputs[1].sum(0)) / (64 * 4)
    np.testing.assert_allclose(gradient.sum(0), expected, atol=1e-6)


def test_the_sorts_of_all_backends_are_one():
    values = jnp.asarray(draw(0, 6, 33).round(1), jnp.float32)
    bits = _ordered_bits(values)
    pairs, packed = _sort_pairs(bits), _sort_packed(bits)
    np.testing.assert_array_equal(pairs[0], packed[0])
    np.testing.assert_array_equal(pairs[1], packed[1])
    np.testing.assert_array_equal(pairs[1], np.argsort(values, axis=1, kind='stable'))
    incoming = jnp.asarray(draw(1, 6, 33), jnp.float32)
    scattered = _unsort_by_scatter(pairs[1], incoming)
    np.testing.assert_array_equal(scattered, _unsort_by_sort(pairs[1], incoming))


@pytest.mark.parametrize(('platform', 'scatters'), [('tpu', 0), ('cpu', 1), ('cuda', 1)])
def test_compiling_for_a_platform_takes_its_form(platform, scatters):
    inputs = arrays(draw(0, 8, 4), draw(1, 8, 4), np.eye(4))
    traced = jax.jit(jax.grad(sliced_wasserstein)).trace(*inputs)
    program = traced.lower(lowering_platforms=(platform,)).as_text()
    assert program.count('"stablehlo.scatter"(') == scatters
    assert ('xi64>' in re.sub('dense<.*?>.*?>', '', program)) == (platform == 'cpu')
    assert program.count('precision = [HIGHEST, HIGHEST]') == program.count('stablehlo.dot_general')


@functools.cache
def sharded(shape, names, rows_divide):
    """Value and gradients as a jitted step sees them: mesh in context, rows spread."""
    devices = jax.devices()[: math.prod(shape)]
    mesh = jax.make_mesh(shape, names, axis_types=(AxisType.Auto,) * len(names), devices=devices)
    rows = NamedSharding(mesh, PartitionSpec(names if rows_divide else None))
    everywhere = NamedSharding(mesh, PartitionSpec())
    differentiated = jax.value_and_grad(sliced_wasserstein, (0, 1, 2))
    return mesh, jax.jit(differentiated, in_shardings=(rows, rows, everywhere))


def assert_equal_on_devices(expected, found):
    np.testing.assert_allclose(found[0], expected[0], atol=1e-6 * max(1, abs(expected[0])))
    for one, many in zip(expected[1], found[1], strict=True):
        np.testing.assert_allclose(many, one, atol=1e-6 * float(jnp.abs(one).max()))


@pytest.mark.parametrize('in_context', [True, False])
@pytest.mark.parametrize(('m', 'k', 'p'), [(16, 16, 8), (16, 16, 1), (16, 8, 3), (13, 6, 7)])
@pytest.mark.parametrize(
    ('shape', 'names'), [((1,), ('data',)), ((4,), ('data',)), ((2, 2), ('data', 'model'))]
)
def test_any_devices_rows_and_directions_give_one_devices_values(shape, names, m, k, p, in_context):
    inputs = arrays(draw(0, m, 4), draw(1, k, 4), draw(2, 4, p))
    expected = value_and_gradients(*inputs)
    mesh, step = sharded(shape, names, m % 4 == k % 4 == 0)
    if in_context:
        with jax.set_mesh(mesh):
            assert_equal_on_devices(expected, step(*inputs))
    else:
        assert_equal_on_devices(expected, step(*inputs))


def test_devices_exchange_directions_and_gather_nothing():
    inputs = arrays(draw(0, 16, 4), draw(1, 16, 4), draw(2, 4, 8))
    mesh, step = sharded((4,), ('data',), True)
    with jax.set_mesh(mesh):
        program = step.lower(*inputs).compile().as_text()
    assert len(re.findall(r' all-to-all\(', program)) == 4  # both sides, forward and back
    assert ' all-gather(' not in program


def test_half_precision_is_widened_before_the_product(key):
    projections = project(16, 8, key=key)
    for dtype in (jnp.bfloat16, jnp.float16):
        samples, prior_samples = (array.astype(dtype) for array in arrays(*draw(0, 2, 32, 16)))
        value, (gradient, *_) = value_and_gradients(samples, prior_samples, projections)
        wide = [np.asarray(a, np.float64) for a in (samples, prior_samples, projections)]
        assert value.dtype == jnp.float32
        assert gradient.dtype == dtype
        np.testing.assert_allclose(value, loop_distance(*wide), rtol=1e-5)


@pytest.mark.parametrize('row', [0.0, 1e30])
def test_zero_rows_and_a_huge_row_stay_finite(row, key):
    samples = np.zeros((8, 4))
    samples[3] = row
    inputs = *arrays(samples, draw(0, 8, 4)), project(4, 4, key=key)
    value, (gradient, *_) = value_and_gradients(*inputs)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_maps_and_checkpoints():
    """Under vmap and remat, as a step with several losses uses it."""
    samples = jnp.asarray(draw(0, 3, 8, 4), jnp.float32)
    others = arrays(draw(1, 8, 4), np.eye(4))

    def distance(samples):
        return sliced_wasserstein(samples, *others)

    mapped = jax.jit(jax.vmap(jax.grad(jax.checkpoint(distance))))(samples)
    one_by_one = [value_and_gradients(one, *others)[1][0] for one in samples]
    np.testing.assert_allclose(mapped, jnp.stack(one_by_one), rtol=1e-6)


@pytest.mark.parametrize('kind', ['orthogonal', 'independent'])
@pytest.mark.parametrize(('d', 'p'), [(6, 6), (6, 3), (4, 11)])
def test_projections_are_unit_columns_and_orthogonal_within_a_basis(kind, d, p, key):
    columns = np.asarray(project(d, p, key=key, kind=kind), np.float64)
    assert columns.shape == (d, p)
    products = columns.T @ columns
    np.testing.assert_allclose(np.diagonal(products), 1, atol=1e-6)
    same_basis = (np.arange(p) // d)[:, None] == (np.arange(p) // d)[None, :]
    off_diagonal = np.abs(products - np.eye(p))
    if kind == 'orthogonal':
        assert off_diagonal[same_basis].max() < 1e-6
    else:
        assert off_diagonal[same_basis].max() > 1e-2
    # Two bases, or two keys, share nothing.
    assert p <= d or off_diagonal[~same_basis].min() > 1e-6
    other = project(d, p, key=jax.random.key(1), kind=kind)
    assert np.abs(columns - other).max() > 1e-2


@pytest.mark.parametrize('kind', ['orthogonal', 'independent'])
def test_projections_are_uniform_on_the_sphere(kind):
    """A uniform unit vector has entries of mean 0, variance 1/d and fourth moment 3/(d(d+2))."""
    d, draws = 5, 4000
    keys = jax.random.split(jax.random.key(0), draws)
    columns = jax.jit(jax.vmap(lambda key: random_projections(d, 2, key=key, kind=kind)))(keys)
    np.testing.assert_allclose(columns.mean(0), 0, atol=5 / math.sqrt(d * draws))
    np.testing.assert_allclose(jnp.mean(columns**2, 0), 1 / d, atol=0.02)
    np.testing.assert_allclose(jnp.mean(columns**4, 0), 3 / (d * (d + 2)), atol=0.02)


def test_bad_input_names_the_field(key):
    good = arrays(draw(0, 8, 4), draw(1, 8, 4), np.eye(4))
    for place, bad in ((0, (8, 5)), (1, (8,)), (2, (3, 4)), (2, (4, 0))):
        inputs = list(good)
        inputs[place] = jnp.zeros(bad)
        with pytest.raises(ValueError, match=r'samples, prior_samples and projections must be'):
            jax.eval_shape(sliced_wasserstein, *inputs)
    with pytest.raises(ValueError, match=r"kind must be one of .*, got 'haar'"):
        random_projections(4, 4, key=key, kind='haar')
    with pytest.raises(ValueError, match=r'at least 1, got 4 and 0'):
        random_projections(4, 0, key=key)
