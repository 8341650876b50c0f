"""Collapse: known ranks and decays, and who is warned of."""

import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import (
    alpha_req,
    collapse_indicators,
    collapse_warning,
    covariance_spectrum,
    deviation_per_dimension,
    effective_rank,
    rankme,
)


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def with_variances(variances, count=200):
    """Rows of mean zero whose covariance is diagonal with just these values."""
    columns = np.column_stack([np.ones(count), draw(0, count, len(variances))])
    basis = np.linalg.qr(columns)[0][:, 1:]
    return basis * np.sqrt(np.asarray(variances) * (count - 1))


@pytest.mark.parametrize('rank', [1, 3, 6])
def test_equal_variances_in_some_directions_are_that_rank(rank):
    z = with_variances([2.0] * rank + [0.0] * (8 - rank))
    rotation = np.linalg.qr(draw(1, 8, 8))[0]
    np.testing.assert_allclose(effective_rank(z @ rotation + 5), rank, rtol=1e-9)
    np.testing.assert_allclose(rankme(z @ rotation), rank, rtol=1e-4)


def test_ranks_are_those_of_their_formulas():
    """The covariance's values, centred; the rows' own, not centred, with the published epsilon."""
    z = draw(2, 60, 7) * np.arange(1, 8) + 4
    shares = np.linalg.svd(np.cov(z.T), compute_uv=False)
    shares = shares / shares.sum()
    np.testing.assert_allclose(effective_rank(z), np.exp(-np.sum(shares * np.log(shares))))
    shares = np.linalg.svd(z, compute_uv=False)
    shares = shares / shares.sum() + 1e-7
    np.testing.assert_allclose(rankme(z), np.exp(-np.sum(shares * np.log(shares))))
    np.testing.assert_allclose(effective_rank(z - 100), effective_rank(z))
    assert rankme(z + 100) < rankme(z) - 1


@pytest.mark.parametrize('alpha', [0.0, 1.0, 2.5])
def test_alpha_of_a_power_law(alpha):
    z = with_variances(np.arange(1, 41) ** -alpha)
    np.testing.assert_allclose(alpha_req(z), alpha, atol=1e-9)
    bent = with_variances(np.where(np.arange(1, 41) > 20, 1e-9, 1.0) * np.arange(1, 41) ** -alpha)
    np.testing.assert_allclose(alpha_req(bent, first=2, last=20), alpha, atol=1e-9)


def test_alpha_leaves_out_what_is_rounding():
    z = with_variances([*np.arange(1, 21) ** -1.0, *[1e-14] * 5])
    np.testing.assert_allclose(alpha_req(z, first=3), 1, atol=1e-9)


def test_deviation_of_a_sphere_and_of_constant_rows():
    """1 / sqrt(d) within five standard errors, about (2 n)^-1/2 each."""
    deviation = deviation_per_dimension(draw(3, 2000, 16))
    np.testing.assert_allclose(deviation, 0.25, rtol=5 / 4000**0.5)
    np.testing.assert_array_equal(deviation_per_dimension(np.full((5, 3), 0.1)), 0)
    z = draw(4, 9, 3)
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    np.testing.assert_allclose(deviation_per_dimension(z * 7), unit.std(axis=0))


def test_indicators_are_floats_that_agree_with_each_other():
    z = draw(5, 50, 6) + 0.5
    found = collapse_indicators(z)
    assert all(isinstance(value, float) for value in found.values())
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    cosines = (unit @ unit.T)[~np.eye(50, dtype=bool)]
    np.testing.assert_allclose(found['mean_cosine'], cosines.mean())
    np.testing.assert_allclose(found['deviation'] ** 2, 1 - np.sum(unit.mean(axis=0) ** 2))
    np.testing.assert_allclose(found['effective_rank'], effective_rank(z))
    np.testing.assert_allclose(found['rankme'], rankme(z))
    values = covariance_spectrum(z)['singular_values']
    np.testing.assert_allclose(found['first_share'], values[0] / values.sum())
    assert found['active_dimensions'] == found['possible_dimensions'] == 6
    assert collapse_indicators(draw(5, 5, 9))['possible_dimensions'] == 4


@pytest.mark.parametrize(
    'z',
    [
        np.full((20, 4), 0.1),
        np.zeros((20, 4)),
        1 + 1e-3 * draw(6, 20, 4),
        jnp.ones((20, 4), jnp.bfloat16),
    ],
)
def test_complete_collapse_is_told(z):
    assert collapse_warning(collapse_indicators(z)).startswith('Complete collapse')


def test_dimensional_collapse_is_told():
    few = collapse_warning(collapse_indicators(with_variances([1.0] * 3 + [1e-8] * 5)))
    assert few.startswith('Dimensional collapse: 3 of 8 possible directions')
    one = collapse_warning(collapse_indicators(with_variances([1.0] + [0.005] * 7)))
    assert one.startswith('Dimensional collapse: one direction holds 97 %')


@pytest.mark.parametrize(
    'z',
    [
        draw(7, 100, 8),  # uniform
        np.eye(10)[np.arange(100) % 10] + 1e-2 * draw(8, 100, 10),  # ten tight classes
        draw(9, 5, 30),  # fewer rows than dimensions
        draw(10, 100, 2) * [1, 0.1],  # two dimensions, for a picture
        with_variances(np.arange(1, 33) ** -1.5),  # a steep spectrum
    ],
)
def test_healthy_embeddings_are_not_warned_of(z):
    assert collapse_warning(collapse_indicators(z)) is None


@pytest.mark.parametrize(
    'function', [effective_rank, rankme, alpha_req, deviation_per_dimension, collapse_indicators]
)
def test_bad_rows(function):
    with pytest.raises(BadInput, match='at least 2'):
        function(np.ones((1, 3)))
    with pytest.raises(BadInput, match='1 of 2 embeddings are not finite'):
        function(np.array([[np.inf, 1], [1, 1]]))


def test_constant_rows_have_documented_ranks():
    assert effective_rank(np.full((6, 3), 0.1)) == 0
    np.testing.assert_allclose(rankme(np.full((6, 3), 0.1)), 1, rtol=1e-4)
    np.testing.assert_allclose(rankme(np.zeros((6, 3))), 1, rtol=1e-4)


def test_bad_options():
    with pytest.raises(BadInput, match='8 eigenvalues are not zero'):
        alpha_req(draw(0, 30, 8))
    with pytest.raises(BadInput, match='first is 0'):
        alpha_req(draw(0, 30, 8), first=0)
    with pytest.raises(BadInput, match='epsilon is 0'):
        rankme(draw(0, 30, 8), epsilon=0)
