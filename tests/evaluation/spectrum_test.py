"""Spectra of known covariances and kernels."""

import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import covariance_spectrum, dimensions_above, weight_spectrum
from contrastive_jax.evaluation.spectrum import centred, squared_singular_values


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize('normalize', [False, True])
def test_is_the_svd_of_the_covariance(normalize):
    z = draw(0, 40, 6) @ draw(1, 6, 6) + 3
    rows = z / np.linalg.norm(z, axis=1, keepdims=True) if normalize else z
    expected = np.linalg.svd(np.cov(rows.T), compute_uv=False)
    found = covariance_spectrum(z, normalize=normalize)
    np.testing.assert_allclose(found['singular_values'], expected)
    np.testing.assert_allclose(found['log10'], np.log10(expected))


def test_known_values_down_to_the_smallest():
    """Orthonormal columns of mean zero times chosen deviations, 1 to 1e-12."""
    basis = np.linalg.qr(np.column_stack([np.ones(30), draw(2, 30, 5)]))[0][:, 1:]
    deviations = np.array([1, 1e-1, 1e-4, 1e-8, 1e-12])
    found = covariance_spectrum(basis * deviations + 0.0)
    np.testing.assert_allclose(found['singular_values'], deviations**2 / 29, rtol=1e-3)
    assert dimensions_above(found['singular_values'], 1e-6) == 2
    assert dimensions_above(found['singular_values'], 0) == 5


def test_fewer_rows_than_dimensions_and_constant_rows():
    values = covariance_spectrum(draw(3, 4, 7))['singular_values']
    assert values.shape == (7,)
    assert dimensions_above(values, 1e-12) == 3
    constant = covariance_spectrum(jnp.full((5, 3), 0.1, jnp.bfloat16))
    np.testing.assert_array_equal(constant['singular_values'], 0)
    np.testing.assert_allclose(constant['log10'], np.log10(np.finfo(float).tiny))
    assert dimensions_above(constant['singular_values'], 0.1) == 0


def test_rows_of_any_scale():
    z = draw(4, 9, 3)
    values = covariance_spectrum(z)['singular_values']
    np.testing.assert_allclose(covariance_spectrum(z * 1e100)['singular_values'], values * 1e200)
    np.testing.assert_allclose(covariance_spectrum(z * 1e-100)['singular_values'], values * 1e-200)


@pytest.mark.parametrize('shape', [(30, 5), (5, 30)])
def test_fast_values_are_the_squares_and_lack_rounding(shape):
    z = draw(5, *shape)
    z[:, 2] = z[:, 1]
    exact = np.linalg.svd(centred(z), compute_uv=False) ** 2
    fast = squared_singular_values(centred(z))
    np.testing.assert_allclose(fast, exact, atol=1e-12)
    assert np.count_nonzero(fast) == 4
    np.testing.assert_array_equal(squared_singular_values(np.zeros((3, 2))), 0)


def test_dense_kernels_by_path():
    params = {
        'encoder': {'Dense_0': {'kernel': draw(6, 5, 3), 'bias': draw(7, 3)}},
        'Conv_0': {'kernel': draw(8, 3, 3, 2, 4)},
        'head': [{'kernel': jnp.diag(jnp.asarray([2.0, -8.0, 0.0]))}],
        'zeros': {'kernel': np.zeros((2, 4))},
    }
    found = weight_spectrum(params)
    assert set(found) == {'encoder/Dense_0/kernel', 'head/0/kernel', 'zeros/kernel'}
    np.testing.assert_allclose(found['head/0/kernel'], [1, 0.25, 0])
    np.testing.assert_array_equal(found['zeros/kernel'], [0, 0])
    values = np.linalg.svd(params['encoder']['Dense_0']['kernel'], compute_uv=False)
    np.testing.assert_allclose(found['encoder/Dense_0/kernel'], values / values[0])


def test_bad_input():
    with pytest.raises(BadInput, match='at least 2'):
        covariance_spectrum(np.ones((1, 3)))
    with pytest.raises(BadInput, match='not finite'):
        covariance_spectrum(np.full((2, 3), np.nan))
    with pytest.raises(BadInput, match='no dense kernel'):
        weight_spectrum({'Conv_0': {'kernel': np.ones((3, 3, 1, 1))}})
    with pytest.raises(BadInput, match='rows of a/kernel are not finite'):
        weight_spectrum({'a': {'kernel': np.full((2, 2), np.inf)}})
    with pytest.raises(BadInput, match='threshold is 2'):
        dimensions_above(np.ones(3), 2)
    with pytest.raises(BadInput, match='spectrum must be'):
        dimensions_above(np.array([1, -1.0]), 0.5)
