"""Uniformity: the double loop, closed forms, and nothing of how it is computed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from contrastive_jax import sharding
from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import (
    uniformity,
    uniformity_interval,
    uniformity_of_sphere,
)


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def double_loop(z, t):
    potentials = [
        -t * np.sum((z[i] - z[j]) ** 2) for i in range(len(z)) for j in range(i + 1, len(z))
    ]
    largest = max(potentials)
    return largest + np.log(np.mean(np.exp(np.array(potentials) - largest)))


@pytest.mark.parametrize('t', [0.1, 2.0, 50.0, 3000.0])
def test_equals_the_double_loop(t):
    z = draw(0, 30, 5)
    np.testing.assert_allclose(uniformity(z, t=t), double_loop(unit(z), t), atol=1e-6 * (1 + t))


def test_all_pairs_of_several_blocks():
    """1,300 rows are three blocks, the last one partly empty."""
    z = unit(draw(1, 1300, 3))
    potentials = np.exp(-2 * (2 - 2 * z @ z.T))[np.triu_indices(1300, 1)]
    expected = np.log(potentials.mean())
    np.testing.assert_allclose(uniformity(z), expected, atol=1e-6)
    order = np.random.default_rng(2).permutation(1300)
    np.testing.assert_allclose(uniformity(z[order]), expected, atol=1e-6)


def test_closed_forms():
    """Identical rows 0; orthogonal frames -2 t; the simplex -2 t n / (n - 1); two poles."""
    assert uniformity(np.ones((7, 3))) == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(uniformity(3 * np.eye(6), t=2.0), -4.0, atol=1e-6)
    np.testing.assert_allclose(uniformity(np.eye(5) - 0.2, t=1.0), -2.5, atol=1e-6)
    np.testing.assert_allclose(uniformity([[1.0, 0], [-1, 0]], t=7.0), -28, atol=1e-5)


def test_never_above_zero():
    for seed in range(5):
        assert uniformity(np.repeat(draw(seed, 1, 9), 40, axis=0)) <= 0


def test_sphere_is_what_uniform_rows_reach():
    """Within five standard errors of the ideal, and clustered rows far above it."""
    z = draw(3, 600, 8)
    found, ideal = uniformity(z), uniformity_of_sphere(8)
    # Uniform rows: pairs are uncorrelated, so the error is that of n (n - 1) / 2 of them.
    potentials = np.exp(-4 + 4 * unit(z) @ unit(z).T)[np.triu_indices(600, 1)]
    error = potentials.std() / potentials.mean() / np.sqrt(len(potentials))
    assert abs(found - ideal) < 5 * error
    assert uniformity(z + 3 * np.eye(8)[0]) > ideal + 1


@pytest.mark.parametrize(
    ('dimensions', 'value'), [(128, -3.93753), (2, -1.57503), (2048, -3.99609), (64, -3.87524)]
)
def test_sphere_anchors(dimensions, value):
    assert uniformity_of_sphere(dimensions) == pytest.approx(value, abs=6e-6)


def test_sphere_is_the_integral_over_the_cosine():
    """For d = 5: the cosine of two uniform points has density ~ (1 - s^2)^((d - 3) / 2)."""
    s = np.linspace(-1, 1, 2_000_001)
    density = 1 - s**2
    for t in (0.3, 2.0, 400.0):
        mean = np.sum(np.exp(2 * t * (s - 1)) * density) / np.sum(density)
        np.testing.assert_allclose(uniformity_of_sphere(5, t), np.log(mean), atol=1e-6)
    # Far out, by Laplace: exp(-2 t) 0F1 -> Gamma(d/2) / (2 sqrt(pi)) t^((1 - d) / 2).
    np.testing.assert_allclose(
        uniformity_of_sphere(4, 1e7), -np.log(2 * np.pi**0.5) - 1.5 * np.log(1e7), atol=1e-6
    )
    np.testing.assert_allclose(uniformity_of_sphere(1, 3.0), np.log((1 + np.exp(-12)) / 2))


def test_zero_rows_stay_at_the_origin():
    """At distance 1 from unit rows: all zeros have collapsed."""
    z = np.array([[0, 0.0], [1, 0], [0, 0]])
    np.testing.assert_allclose(uniformity(z), np.log((1 + 2 * np.exp(-2)) / 3), atol=1e-6)
    assert uniformity(np.zeros((4, 3))) == pytest.approx(0, abs=1e-6)


def test_arrays_of_any_type_and_scale():
    z = draw(4, 40, 4)
    for given in (jnp.asarray(z, jnp.float32), z * 1e200, z * 1e-200):
        np.testing.assert_allclose(uniformity(given), uniformity(z), atol=1e-6)
    half = jnp.asarray(z, jnp.bfloat16)
    np.testing.assert_allclose(uniformity(half), uniformity(np.asarray(half, float)), atol=1e-6)


def test_any_mesh_gives_the_same():
    z = draw(5, 41, 4)
    alone = uniformity(z)
    mesh = sharding.data_mesh()
    assert mesh.size == 4
    with jax.set_mesh(mesh):
        assert uniformity(z) == alone
        split = jax.device_put(z[:40].astype(np.float32), sharding.batch_sharding(mesh))
        np.testing.assert_allclose(uniformity(split), uniformity(z[:40]), atol=1e-6)


def test_interval_covers_the_truth_as_often_as_it_says():
    """200 samples of 60 rows of a crowded distribution; the truth from 6,000 rows."""
    offset = np.array([1.0, 0, 0])
    truth = uniformity(draw(6, 6000, 3) + offset)
    covered = 0
    for seed in range(200):
        found = uniformity_interval(draw(100 + seed, 60, 3) + offset)
        assert found['uniformity_low'] < found['uniformity'] < found['uniformity_high']
        covered += found['uniformity_low'] < truth < found['uniformity_high']
    low, high = stats.binom.interval(0.999, 200, 0.95)
    assert low - 4 <= covered <= high  # the truth's own error costs up to 2 %


@pytest.mark.parametrize(
    ('z', 't', 'sentence'),
    [
        (np.ones((1, 3)), 2.0, '1 rows; at least 2'),
        (np.array([[np.nan, 1], [1, 1]]), 2.0, '1 of 2 embeddings are not finite'),
        (np.ones((3, 2)), 0.0, 't is 0.0; it must be positive'),
        (np.ones((3, 2)), np.inf, 't is inf'),
    ],
)
def test_bad_input(z, t, sentence):
    with pytest.raises(BadInput, match=sentence):
        uniformity(z, t=t)


def test_bad_dimensions_of_the_sphere():
    with pytest.raises(BadInput, match='dimensions is 0'):
        uniformity_of_sphere(0)
