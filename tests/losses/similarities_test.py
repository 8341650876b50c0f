"""Normalising, temperature and distances: exact where they can be, finite everywhere."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.losses import similarities


def rows_of(seed, count=6, dimensions=4):
    return np.random.default_rng(seed).standard_normal((count, dimensions)).astype('f4')


@pytest.mark.parametrize('size', [1e-30, 1e-3, 1.0, 1e10, 1e30])
def test_unit_rows_divides_by_the_length_or_by_the_shortest(size):
    rows = rows_of(0) * np.float32(size)
    lengths = np.linalg.norm(np.float64(rows), axis=1, keepdims=True)
    unit = similarities.unit_rows(rows)
    assert unit.dtype == jnp.float32
    expected = np.float64(rows) / np.maximum(lengths, similarities.SHORTEST_ROW)
    np.testing.assert_allclose(unit, expected, rtol=5e-7, atol=1e-30)


def test_gradient_of_unit_rows_is_the_projection_off_the_row():
    rows, incoming = rows_of(0), np.float64(rows_of(1))
    gradient = jax.vjp(similarities.unit_rows, rows)[1](incoming.astype('f4'))[0]
    lengths = np.linalg.norm(np.float64(rows), axis=1, keepdims=True)
    unit = rows / lengths
    expected = (incoming - unit * np.sum(unit * incoming, axis=1, keepdims=True)) / lengths
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


def test_zero_rows_stay_zero_and_their_gradient_is_bounded():
    rows, incoming = np.zeros((2, 4), np.float32), rows_of(1, 2)
    unit, pull_back = jax.vjp(similarities.unit_rows, rows)
    assert np.all(unit == 0)
    np.testing.assert_allclose(pull_back(incoming)[0], incoming / similarities.SHORTEST_ROW, 1e-6)


@pytest.mark.parametrize('dtype', [jnp.float16, jnp.bfloat16])
def test_gradient_of_a_narrow_zero_row_is_finite(dtype):
    rows = jnp.zeros((2, 4), dtype)
    gradient = jax.vjp(similarities.unit_rows, rows)[1](rows_of(1, 2))[0]
    assert gradient.dtype == dtype
    assert np.all(np.isfinite(np.float64(gradient)))
    assert np.all(np.sign(np.float64(gradient)) == np.sign(rows_of(1, 2)))


def test_products_are_float32_at_full_precision():
    rows = jax.ShapeDtypeStruct((6, 4), jnp.bfloat16)
    program = jax.jit(similarities.inner_products).lower(rows, rows).as_text()
    (product,) = re.findall(r'.*dot_general.*', program)
    assert 'precision = [HIGHEST, HIGHEST]' in product
    assert product.endswith('tensor<6x6xf32>')


def test_inner_products_pair_rows_with_columns():
    rows, columns = rows_of(0, 3), rows_of(1, 5)
    expected = np.float64(rows) @ np.float64(columns).T
    np.testing.assert_allclose(similarities.inner_products(rows, columns), expected, atol=1e-6)


@pytest.mark.parametrize('power', [1, 2, 2.5, 4])
def test_power_distances_and_their_slope_at_zero(power):
    rows, columns = rows_of(0, 3), rows_of(1, 5)
    difference = np.abs(np.float64(rows)[:, None] - np.float64(columns)[None])
    expected = -(difference**power).sum(-1)
    actual = similarities.negative_power_distances(rows, columns, power=power)
    np.testing.assert_allclose(actual, expected, rtol=2e-6)
    slope = jax.grad(
        lambda x: jnp.sum(similarities.negative_power_distances(x, rows[:1], power=power))
    )(rows[:1])
    assert np.all(slope == 0)


def test_power_distances_keep_the_digits_of_long_close_rows():
    rows = np.float32([[1000.0, -2000.0]])
    columns = rows + np.float32([[0.125, 0.25]])
    distance = similarities.negative_power_distances(rows, columns, power=2)
    assert distance == -(0.125**2 + 0.25**2)


@pytest.mark.parametrize('power', [1, 2, 3])
def test_powers_of_huge_differences_stop_at_the_largest(power):
    value, slope = jax.value_and_grad(lambda x: similarities.absolute_power(x, power))(
        np.float32(1e30)
    )
    np.testing.assert_allclose(value, 1e28, rtol=1e-5)
    assert slope == 0


def test_standardized_sets_share_one_mean_and_variance():
    sets = [rows_of(0, 5) * 3 + 1, rows_of(1, 7)]
    standard = np.concatenate([np.float64(one) for one in similarities.standardized(sets)])
    every = np.concatenate([np.float64(one) for one in sets])
    expected = (every - every.mean(0)) / every.std(0) / np.sqrt(2)  # d = 4: 4^(1/4) a side
    np.testing.assert_allclose(standard, expected, atol=1e-6)
    constant = similarities.standardized([np.full((3, 4), 2.0, np.float32)])
    assert np.all(constant[0] == 0)


def test_bounded_rows_have_finite_products_and_no_gradient_beyond():
    rows = jnp.asarray([[3e38, -3e38, 2.0, jnp.inf], [1e20, 1.0, -3.0, 0.0]], jnp.float32)
    bounded, pull_back = jax.vjp(similarities.bounded, rows)
    limit = 1e14 / 2  # sqrt(d) is 2
    np.testing.assert_allclose(bounded[0], [limit, -limit, 2.0, limit], rtol=1e-6)
    assert np.abs(similarities.inner_products(bounded, bounded)).max() <= 1.00001e28
    inside = np.array([[0, 0, 1, 0], [0, 1, 1, 1]])
    np.testing.assert_array_equal(pull_back(jnp.ones_like(rows))[0], inside)


def test_standardized_rows_at_the_end_of_float32_are_finite():
    rows = rows_of(0, 5) * np.float32(1e38)

    def total(rows):
        return jnp.sum(jnp.square(similarities.standardized([rows])[0] - 1))

    value, gradient = jax.value_and_grad(total)(rows)
    assert np.isfinite(value)
    assert np.all(gradient == 0)  # every entry is beyond 1e28
    below, plain = np.float32(1e-11) * rows, rows_of(0, 5)  # at 1e27 nothing is cut off
    np.testing.assert_allclose(
        similarities.standardized([below])[0], similarities.standardized([plain])[0], atol=1e-6
    )


def test_interleaved_puts_a_pair_side_by_side():
    first, second = rows_of(0), rows_of(1)
    rows = similarities.interleaved(first, second)
    assert np.all(rows[0::2] == first)
    assert np.all(rows[1::2] == second)


@pytest.mark.parametrize('power', [1, 2, 3])
@pytest.mark.parametrize('temperature', [0.3, (0.1, 0.2, 0.5, 2.0), np.float32(4), 2])
def test_scaled_rows_give_logits_over_the_temperature(power, temperature):
    rows, columns = rows_of(0, 3), rows_of(1, 5)
    first, second = (
        similarities.scale_by_temperature(x, temperature, power) for x in (rows, columns)
    )
    difference = np.abs(np.float64(rows)[:, None] - np.float64(columns)[None])
    expected = -(difference**power / np.float64(temperature)).sum(-1)
    actual = similarities.negative_power_distances(first, second, power=power)
    np.testing.assert_allclose(actual, expected, rtol=5e-6)
    if power == 2:
        expected = (np.float64(rows) / np.float64(temperature)) @ np.float64(columns).T
        np.testing.assert_allclose(
            similarities.inner_products(first, second), expected, atol=1e-5, rtol=1e-5
        )


@pytest.mark.parametrize('temperature', [0.0, -1.0, 1e-9])
def test_a_traced_temperature_is_never_below_the_smallest(temperature):
    rows = rows_of(0)

    def function(temperature):
        return jnp.sum(similarities.scale_by_temperature(rows, temperature))

    value, slope = jax.value_and_grad(function)(jnp.float32(temperature))
    np.testing.assert_allclose(value, np.sum(rows) / 1e-3, rtol=1e-5)
    assert slope == 0


@pytest.mark.parametrize(
    ('temperature', 'message'),
    [
        (0, 'must be positive, got 0'),
        (-0.1, 'must be positive, got -0.1'),
        (np.float32(0), 'must be positive'),
        ([0.1, 0.2, 0.0, 0.4], 'must be positive'),
        ([0.1, 0.2], r'4 entries.*\(2,\)'),
        (np.ones((4, 1)), r'4 entries.*\(4, 1\)'),
    ],
)
def test_bad_temperatures_are_named(temperature, message):
    with pytest.raises(ValueError, match=message):
        similarities.scale_by_temperature(rows_of(0), temperature)
