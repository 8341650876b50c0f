"""Colour against float64 NumPy and, pixel by pixel, Python's own colorsys."""

import colorsys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax import views
from contrastive_jax.views import jittering

adjust = jax.jit(jittering.adjust_in_order, static_argnums=(6,))


@pytest.fixture(scope='module')
def image():
    return np.random.default_rng(0).uniform(size=(7, 6, 3)).astype(np.float32)


def by_pixel(image, change):
    """`change` of (hue, saturation, value) at each pixel of a clipped image."""
    found = np.empty(image.shape)
    for at in np.ndindex(image.shape[:2]):
        found[at] = colorsys.hsv_to_rgb(*change(*colorsys.rgb_to_hsv(*image[at])))
    return found


def reference(image, numbers, order, additive=False):
    """The four operations one after another in float64, clipped after each."""
    brightness, contrast, saturation, hue = numbers
    image = image.astype(np.float64)
    for kind in order:
        if kind == 0:
            image = image + brightness if additive else image * brightness
        elif kind == 1:
            mean = image.mean(axis=(0, 1))
            image = (image - mean) * contrast + mean
        elif kind == 2:
            image = by_pixel(image, lambda h, s, v: (h, min(1.0, s * saturation), v))
        else:
            image = by_pixel(image, lambda h, s, v: ((h + hue) % 1.0, s, v))
        image = image.clip(0, 1)
    return image


@pytest.mark.parametrize('numbers', [(1.5, 0.4, 1.7, 0.15), (0.6, 1.8, 0.0, -0.4)])
def test_every_order_equals_the_reference(image, numbers):
    assert len({tuple(order) for order in jittering.ORDERS}) == 24
    for order in jittering.ORDERS:
        found = adjust(image, *map(jnp.float32, numbers), order)
        np.testing.assert_allclose(found, reference(image, numbers, order), atol=3e-6)


def test_additive_brightness_equals_the_reference(image):
    numbers = (-0.3, 1.2, 0.8, 0.1)
    for order in jittering.ORDERS[::5]:
        found = adjust(image, *map(jnp.float32, numbers), order, True)
        np.testing.assert_allclose(found, reference(image, numbers, order, True), atol=3e-6)


def test_overshoot_of_a_cubic_crop_has_the_saturation_of_tensorflow():
    # Range / value of (0.5, 0.1, -0.1) is 1.2: the factor 0.5 makes it 0.6, the factor 1 cuts at 1.
    image = jnp.array([0.5, 0.1, -0.1]).reshape(3, 1, 1)
    for factor, expected in ((0.5, (0.5, 0.3, 0.2)), (1.0, (0.5, 1 / 6, 0.0))):
        found = jittering.adjust_colour(image, factor, 0.0, jnp.array(False))
        np.testing.assert_allclose(np.ravel(found), expected, atol=1e-6)


def test_grey_images_keep_saturation_and_hue_without_nan():
    for value in (0.0, 0.5, 1.0):
        image = jnp.full((3, 2, 2), value)
        for turn in (False, True):
            found = jittering.adjust_colour(image, 1.7, 0.3, jnp.array(turn))
            np.testing.assert_allclose(found, value, atol=1e-7)

    def total(image):
        return jnp.sum(jittering.adjust_colour(image, 1.7, 0.3, jnp.array(True)))

    assert np.isfinite(jax.grad(total)(jnp.full((3, 1, 1), 0.5))).all()


def test_a_grey_channel_knows_brightness_and_contrast_alone(image):
    grey = image[..., :1]
    for order in ((0, 1, 2, 3), (3, 1, 2, 0)):
        found = adjust(grey, *map(jnp.float32, (1.4, 0.5, 1.7, 0.2)), np.array(order, np.int32))
        linear = [kind for kind in order if kind < 2]
        np.testing.assert_allclose(found, reference(grey, (1.4, 0.5, 0, 0), linear), atol=2e-6)
    np.testing.assert_array_equal(views.grey(jax.random.key(0), grey, grey_probability=1.0), grey)


def test_parameters_are_uniform_within_their_strengths():
    operation = jittering.random_jitter(
        brightness=0.8, contrast=0.4, saturation=0.6, hue=0.2, probability=0.8
    )
    keys = jax.random.split(jax.random.key(0), 6000)
    drawn = jax.jit(jax.vmap(lambda key: operation.sample(key, (8, 8, 3))))(keys)
    jittered = np.asarray(drawn['jittered'])
    assert abs(jittered.mean() - 0.8) < 4.5 * np.sqrt(0.16 / 6000)
    for name, centre, strength in (
        ('brightness', 1, 0.8), ('contrast', 1, 0.4), ('saturation', 1, 0.6), ('hue', 0, 0.2)
    ):  # fmt: skip
        number = np.asarray(drawn[name])
        assert (number[~jittered] == centre).all()
        cells = np.floor((number[jittered] - centre) / strength * 5 + 5).astype(int)
        counts = np.bincount(cells, minlength=10)
        expected = jittered.sum() / 10
        assert len(counts) == 10
        assert ((counts - expected) ** 2 / expected).sum() < 27.9, name  # 9 degrees, p = 0.001
    counts = np.bincount(np.asarray(drawn['order']), minlength=24)
    assert ((counts - 250) ** 2 / 250).sum() < 49.7  # 23 degrees of freedom, p = 0.001


def test_grey_is_the_weighted_sum_of_the_channels(image):
    found = views.grey(jax.random.key(0), jnp.asarray(image), grey_probability=1.0)
    expected = image.astype(np.float64) @ [0.2989, 0.587, 0.114]
    for channel in range(3):
        np.testing.assert_allclose(found[..., channel], expected, atol=1e-6)


@pytest.mark.parametrize(
    ('options', 'field'),
    [
        ({'brightness': 1.1}, 'brightness'),
        ({'contrast': -0.1}, 'contrast'),
        ({'saturation': 2.0}, 'saturation'),
        ({'hue': 0.6}, 'hue'),
        ({'jitter_probability': 1.2}, 'jitter_probability'),
    ],
)
def test_impossible_strengths_name_the_field(image, options, field):
    with pytest.raises(ValueError, match=field):
        views.jitter(jax.random.key(0), image, **options)


@pytest.mark.parametrize('name', ['jitter', 'grey', 'luminance', 'simclr_cifar'])
def test_two_channels_have_no_colour(name):
    with pytest.raises(ValueError, match='2 channels'):
        getattr(views, name)(jax.random.key(0), jnp.zeros((8, 8, 2)))
