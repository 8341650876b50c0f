"""Lab against known colours and a float64 version."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.views.lab import rgb_to_lab, split_lab

# L, a, b in textbooks, D65.
KNOWN = {
    (1.0, 1.0, 1.0): (100.0, 0.0, 0.0),
    (0.0, 0.0, 0.0): (0.0, 0.0, 0.0),
    (1.0, 0.0, 0.0): (53.24, 80.09, 67.20),
    (0.0, 1.0, 0.0): (87.73, -86.18, 83.18),
    (0.0, 0.0, 1.0): (32.30, 79.19, -107.86),
}


def reference(pixel):
    """L, a, b of one pixel in float64, by the standard's formulas."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in pixel]
    matrix = [[0.412453, 0.35758, 0.180423], [0.212671, 0.71516, 0.072169]]
    matrix.append([0.019334, 0.119193, 0.950227])
    xyz = np.array(matrix) @ linear / [0.95047, 1.0, 1.08883]
    # 7.787 and 16 / 116 are the tangent of the cube root where it takes over.
    x, y, z = (t ** (1 / 3) if t > (6 / 29) ** 3 else t * (29 / 6) ** 2 / 3 + 4 / 29 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize('colour', KNOWN)
def test_known_colours(colour):
    found = rgb_to_lab(jnp.array(colour).reshape(1, 1, 3))
    np.testing.assert_allclose(np.ravel(found), KNOWN[colour], atol=0.02)


def test_equals_the_reference():
    image = np.random.default_rng(0).uniform(size=(20, 20, 3))
    image[:5] **= 6  # dark colours, where both curves are linear
    found = jax.jit(rgb_to_lab)(image.astype(np.float32))
    expected = np.apply_along_axis(reference, 2, image)
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_grey_has_no_colour_and_black_a_finite_gradient():
    grey = jnp.linspace(0.0, 1.0, 11)[:, None, None] * jnp.ones((1, 1, 3))
    np.testing.assert_allclose(rgb_to_lab(grey)[..., 1:], 0.0, atol=0.02)
    gradient = jax.grad(lambda image: jnp.sum(rgb_to_lab(image)))(jnp.zeros((1, 1, 3)))
    assert np.isfinite(gradient).all()


def test_the_split_is_normalised_lab():
    image = np.random.default_rng(1).uniform(size=(4, 5, 3)).astype(np.float32)
    luminance, colour = split_lab(image)
    lab = np.apply_along_axis(reference, 2, image.astype(np.float64))
    assert luminance.shape == (4, 5, 1)
    np.testing.assert_allclose(luminance[..., 0], (lab[..., 0] - 50) / 50, atol=1e-4)
    np.testing.assert_allclose(colour[..., 0], (lab[..., 1] - 6.025) / 92.208, atol=1e-4)
    np.testing.assert_allclose(colour[..., 1], (lab[..., 2] + 6.6895) / 101.1675, atol=1e-4)
