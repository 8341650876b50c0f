"""Pictures on a canvas: the maximum where they overlap."""

import jax
import numpy as np

from contrastive_jax.data.probing.canvas import lay, resized


def test_overlapping_pictures_give_the_maximum():
    random = np.random.default_rng(0)
    canvas = random.uniform(size=(9, 8, 2)).astype(np.float32)
    pictures = random.uniform(size=(3, 4, 4, 2)).astype(np.float32)
    places = np.array([[0, 0], [2, 1], [5, 4]], np.int32)
    expected = canvas.copy()
    for picture, (top, left) in zip(pictures, places, strict=True):
        window = expected[top : top + 4, left : left + 4]
        window[:] = np.maximum(window, picture)
    np.testing.assert_array_equal(jax.jit(lay)(canvas, pictures, places), expected)


def test_doubling_a_picture_interpolates_between_half_pixel_centres():
    row = np.array([0, 1, 3], np.float32)
    picture = np.broadcast_to(row[None, :, None], (3, 3, 1))
    expected = [0, 0.25, 0.75, 1.5, 2.5, 3]
    np.testing.assert_allclose(resized(picture, 6)[0, :, 0], expected, atol=1e-6)
    assert resized(picture, 3) is picture
