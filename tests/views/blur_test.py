"""Blur against a float64 double loop, and the darkened border of the official code."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.views.blur import gaussian_blur, random_blur


def reference(image, sigma):
    """The kernel of a tenth of the height made odd, as one sum over its square."""
    radius = image.shape[0] // 10 // 2
    weights = np.exp(-(np.arange(-radius, radius + 1.0) ** 2) / (2 * sigma**2))
    weights /= weights.sum()
    padded = np.pad(image.astype(np.float64), ((radius, radius), (radius, radius), (0, 0)))
    found = np.zeros(image.shape)
    height, width, _ = image.shape
    for down, first in enumerate(weights):
        for right, second in enumerate(weights):
            found += first * second * padded[down : down + height, right : right + width]
    return found


@pytest.mark.parametrize(('shape', 'sigma'), [((32, 20, 3), 2.0), ((50, 51, 1), 0.7)])
def test_equals_the_double_loop(shape, sigma):
    image = np.random.default_rng(0).uniform(size=shape).astype(np.float32)
    found = jax.jit(gaussian_blur)(image, jnp.float32(sigma))
    np.testing.assert_allclose(found, reference(image, sigma), atol=1e-6)


def test_the_border_of_an_image_of_ones_darkens_as_measured():
    # The fact sheet of chen2021, section 5: corner 0.36, edge 0.60 at sigma 2 and 224 pixels.
    blurred = jax.jit(gaussian_blur)(jnp.ones((224, 224, 1)), jnp.float32(2))
    np.testing.assert_allclose(blurred[0, 0], 0.36, atol=0.005)
    np.testing.assert_allclose(blurred[0, 112], 0.60, atol=0.005)
    np.testing.assert_allclose(blurred[112, 112], 1.0, atol=1e-6)


def test_a_small_sigma_and_a_small_image_stay_as_they_are():
    image = jnp.asarray(np.random.default_rng(0).uniform(size=(32, 32, 3)), jnp.float32)
    np.testing.assert_allclose(gaussian_blur(image, jnp.float32(0.1)), image, atol=1e-6)
    np.testing.assert_array_equal(gaussian_blur(image[:19], jnp.float32(2)), image[:19])


def test_half_of_the_images_are_blurred_with_a_uniform_sigma():
    keys = jax.random.split(jax.random.key(0), 4000)
    operation = random_blur(sigma_range=(0.1, 2.0), probability=0.5)
    sigma = np.asarray(jax.vmap(lambda key: operation.sample(key, (32, 32, 3))['sigma'])(keys))
    blurred = sigma > 0
    assert abs(blurred.mean() - 0.5) < 4.5 * np.sqrt(0.25 / 4000)
    counts, _ = np.histogram(sigma[blurred], 10, (0.1, 2.0))
    expected = blurred.sum() / 10
    assert counts.sum() == blurred.sum()
    assert ((counts - expected) ** 2 / expected).sum() < 27.9  # 9 degrees of freedom, p = 0.001


@pytest.mark.parametrize('sigma_range', [(0.0, 1.0), (2.0, 1.0), (1.0,)])
def test_impossible_sigmas_name_the_field(sigma_range):
    with pytest.raises(ValueError, match='sigma_range'):
        random_blur(sigma_range=sigma_range)
