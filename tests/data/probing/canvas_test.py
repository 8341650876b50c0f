"""Pictures on a canvas: the maximum where they overlap."""

import jax
import numpy as np

from contrastive_jax.data.probing.canvas import lay, resized, sampled


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
    np.testing.assert_allclose(resized(picture, (6, 6))[0, :, 0], expected, atol=1e-6)
    assert resized(picture, (3, 3)) is picture


def test_grey_and_colour_pictures_are_resized_alike():
    picture = np.random.default_rng(0).uniform(size=(5, 7, 3)).astype(np.float32)
    for shape in ((8, 9), (3, 4)):
        colour, grey = jax.jit(
            lambda picture, shape=shape: (
                resized(picture, shape),
                jax.vmap(lambda channel: resized(channel, shape), 3, 3)(picture[:, :, None]),
            )
        )(picture)
        np.testing.assert_allclose(colour, grey[:, :, 0], atol=1e-6)


def test_a_picture_is_read_between_its_pixels_and_goes_on_beyond_its_border():
    random = np.random.default_rng(0)
    picture = random.uniform(size=(4, 6, 2)).astype(np.float32)
    rows, columns = (random.uniform(-2, 7, 9).astype(np.float32) for _ in range(2))
    expected = np.zeros((9, 9, 2))
    for m, row in enumerate(np.clip(rows, 0, 3)):
        for n, column in enumerate(np.clip(columns, 0, 5)):
            for y in range(4):
                for x in range(6):
                    weight = max(0, 1 - abs(row - y)) * max(0, 1 - abs(column - x))
                    expected[m, n] += weight * picture[y, x]
    np.testing.assert_allclose(jax.jit(sampled)(picture, rows, columns), expected, atol=1e-5)
