"""The evidence lower bound: densities written out, an exact model, and the extremes."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from contrastive_jax.losses.vae import evidence_lower_bound


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


IMAGES = np.random.default_rng(9).uniform(size=(4, 3, 3, 2)).astype(np.float32)


@pytest.mark.parametrize('likelihood', ['bernoulli', 'normal'])
def test_equals_the_densities_in_float64(likelihood):
    outputs, mean, log_variance = draw(0, 4, 3, 3, 2), draw(1, 4, 5), draw(2, 4, 5)
    if likelihood == 'bernoulli':
        probability = 1 / (1 + np.exp(-outputs.astype(float)))
        surprise = -(IMAGES * np.log(probability) + (1 - IMAGES) * np.log(1 - probability))
    else:
        surprise = -stats.norm.logpdf(IMAGES.astype(float), outputs.astype(float), 0.3)
    reconstruction = sum(np.sum(image) for image in surprise) / 4
    # The divergence as an integral over the code, one dimension at a time.
    grid = np.linspace(-30, 30, 40001)
    divergence = 0.0
    for centre, width in zip(mean.ravel(), np.exp(log_variance.ravel() / 2), strict=True):
        density = stats.norm.pdf(grid, centre, width)
        log_ratio = stats.norm.logpdf(grid, centre, width) - stats.norm.logpdf(grid)
        divergence += np.trapezoid(density * log_ratio, grid) / 4
    loss, parts = evidence_lower_bound(
        *map(jnp.asarray, (IMAGES, outputs, mean, log_variance)),
        likelihood=likelihood,
        standard_deviation=0.3,
        beta=0.5,
    )
    np.testing.assert_allclose(parts['reconstruction'], reconstruction, rtol=1e-6)
    np.testing.assert_allclose(parts['divergence'], divergence, rtol=1e-6)
    np.testing.assert_allclose(loss, reconstruction + 0.5 * divergence, rtol=1e-6)


def test_bound_is_tight_at_the_exact_posterior_and_loose_elsewhere():
    """x = h + noise with h, noise ~ N(0, 1): the mean over h is log N(x; 0, 2)."""
    x = np.full((20001, 1), 1.3, np.float32)
    quantiles = stats.norm.ppf((np.arange(20001) + 0.5) / 20001)[:, None].astype(np.float32)

    def bound(centre, variance):
        code = centre + math.sqrt(variance) * quantiles
        return evidence_lower_bound(
            jnp.asarray(x),
            jnp.asarray(code),
            jnp.full((20001, 1), centre),
            jnp.full((20001, 1), math.log(variance)),
            likelihood='normal',
        )[0]

    exact = -stats.norm.logpdf(1.3, 0, math.sqrt(2))
    np.testing.assert_allclose(bound(0.65, 0.5), exact, rtol=1e-4)
    assert bound(0.4, 0.5) > exact + 0.01
    assert bound(0.65, 0.8) > exact + 0.01


def test_gradients_have_their_closed_forms():
    outputs, mean, log_variance = map(jnp.asarray, (draw(0, 4, 6), draw(1, 4, 5), draw(2, 4, 5)))
    images = jnp.asarray(IMAGES.reshape(4, 18)[:, :6])
    gradients = jax.grad(
        lambda *inputs: evidence_lower_bound(images, *inputs, beta=2.0)[0], (0, 1, 2)
    )(outputs, mean, log_variance)
    np.testing.assert_allclose(gradients[0], (jax.nn.sigmoid(outputs) - images) / 4, atol=1e-6)
    np.testing.assert_allclose(gradients[1], 2 * mean / 4, rtol=1e-5)
    np.testing.assert_allclose(gradients[2], (jnp.exp(log_variance) - 1) / 4, atol=1e-6)


def test_each_image_is_compared_with_its_own_reconstruction():
    images = jnp.asarray((IMAGES > 0.5).astype(np.float32))
    code = jnp.zeros((4, 2))
    good = evidence_lower_bound(images, 20 * images - 10, code, code)[0]
    assert good < 0.01
    assert evidence_lower_bound(images, jnp.roll(20 * images - 10, 1, axis=0), code, code)[0] > 10


@pytest.mark.parametrize('likelihood', ['bernoulli', 'normal'])
def test_extremes_are_finite_float32(likelihood):
    images = jnp.zeros((2, 3), jnp.bfloat16)
    outputs, mean, log_variance = (
        jnp.zeros((2, 3), jnp.bfloat16).at[0].set(value) for value in (1e30, -1e30, 1e4)
    )
    value, gradient = jax.value_and_grad(
        lambda *inputs: evidence_lower_bound(images, *inputs, likelihood=likelihood)[0], (0, 1, 2)
    )(outputs, mean, log_variance)
    assert value.dtype == jnp.float32
    assert np.isfinite(value)
    assert all(np.isfinite(np.asarray(part, np.float32)).all() for part in gradient)


def test_bad_input_names_the_field():
    images, code = jnp.ones((4, 6)), jnp.ones((4, 2))
    with pytest.raises(ValueError, match='images and reconstructions must be'):
        evidence_lower_bound(images, images[:, :5], code, code)
    with pytest.raises(ValueError, match=r'mean and log_variance must be \[n, k\] with n = 4'):
        evidence_lower_bound(images, images, code[:3], code[:3])
    with pytest.raises(ValueError, match=r"likelihood must be one of .*, got 'laplace'"):
        evidence_lower_bound(images, images, code, code, likelihood='laplace')
    with pytest.raises(ValueError, match='standard_deviation must be positive, got 0'):
        evidence_lower_bound(images, images, code, code, standard_deviation=0)
