"""Views: TensorFlow's crop law and resizing that never looks outside the box."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax import views


@pytest.fixture(scope='module')
def image():
    return jnp.asarray(np.random.default_rng(0).uniform(size=(28, 20, 3)), jnp.float32)


BOXES = [(0, 0, 28, 20), (3, 5, 9, 7), (0, 13, 1, 7), (27, 19, 1, 1), (11, 0, 17, 20)]


@pytest.mark.parametrize('method', ['linear', 'cubic'])
@pytest.mark.parametrize('box', BOXES)
@pytest.mark.parametrize('shape', [(28, 20), (64, 33), (5, 4)])
def test_crop_and_resize_equals_resize_of_the_sliced_crop(image, box, shape, method):
    top, left, height, width = box
    sliced = image[top : top + height, left : left + width]
    # jax.image.resize itself needs implicit promotion.
    with jax.numpy_dtype_promotion('standard'), jax.numpy_rank_promotion('allow'):
        expected = jax.image.resize(sliced, (*shape, 3), method, antialias=False)
    found = jax.jit(views.crop_and_resize, static_argnums=(2, 3))(
        image, tuple(jnp.int32(number) for number in box), shape, method
    )
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize('method', ['linear', 'cubic'])
def test_pixels_outside_the_box_never_contribute(image, method):
    top, left, height, width = box = (3, 5, 9, 7)
    outside = jnp.ones(image.shape[:2], bool).at[top : top + height, left : left + width].set(False)
    changed = jnp.where(outside[..., None], 1e6, image)
    kept = views.crop_and_resize(image, box, (28, 20), method)
    np.testing.assert_array_equal(views.crop_and_resize(changed, box, (28, 20), method), kept)


def boxes(size, area_range, count=40_000, seed=0):
    keys = jax.random.split(jax.random.key(seed), count)
    draw = jax.vmap(lambda key: views.sample_crop_box(key, size, size, area_range, (3 / 4, 4 / 3)))
    return np.stack(jax.jit(draw)(keys))


# Quantiles 5, 25, 50, 75, 95 % and the mean of the area, from 40,000 draws of TensorFlow itself:
# the fact sheet of chen2021, section 5.
LAW = {
    (224, 0.08): ([0.120, 0.218, 0.386, 0.601, 0.822], 0.421),
    (32, 0.08): ([0.118, 0.219, 0.404, 0.610, 0.844], 0.431),
    (28, 0.5): ([0.510, 0.561, 0.663, 0.765, 0.895], 0.678),
}


@pytest.mark.parametrize(('size', 'least'), LAW)
def test_the_area_follows_the_law_of_tensorflow(size, least):
    quantiles, mean = LAW[size, least]
    _, _, height, width = boxes(size, (least, 1.0))
    area = height * width / size**2
    # Discrete at 28 and 32 pixels: a quantile may fall on either side of a step of the law.
    step = 1.5 / size
    found = np.quantile(area, [0.05, 0.25, 0.5, 0.75, 0.95])
    np.testing.assert_allclose(found, quantiles, atol=0.006 + (step if size < 100 else 0))
    np.testing.assert_allclose(area.mean(), mean, atol=0.004)
    assert area.min() >= max(least, 0.1)
    assert area.max() <= 1


def reference_boxes(size, least, count, seed):
    """The law once more, one draw at a time and with unbounded rejection."""
    generator = np.random.default_rng(seed)
    found = []
    while len(found) < count:
        ratio = generator.uniform(3 / 4, 4 / 3)
        lowest = int(np.rint(np.sqrt(least * size**2 / ratio)))
        highest = int(np.rint(np.sqrt(size**2 / ratio)))
        while np.rint(highest * ratio) > size:
            highest -= 1
        highest = min(highest, size)
        height = generator.integers(min(lowest, highest), highest + 1)
        if height * np.rint(height * ratio) < least * size**2:
            height += 1
        if height * np.rint(height * ratio) > size**2:
            height -= 1
        width = int(np.rint(height * ratio))
        if height > size or width > size or height * width < max(least, 0.1) * size**2:
            continue
        top = generator.integers(size - height) if height < size else 0
        left = generator.integers(size - width) if width < size else 0
        found.append((top, left, height, width))
    return np.array(found).T


@pytest.mark.parametrize(('size', 'least'), [(32, 0.08), (28, 0.5)])
def test_boxes_have_the_distribution_of_a_plain_loop(size, least):
    ours = boxes(size, (least, 1.0), 20_000)
    loop = reference_boxes(size, least, 20_000, seed=1)
    for name, a, b in zip(('top', 'left', 'height', 'width'), ours, loop, strict=True):
        shares = [np.bincount(x, minlength=size + 1) / len(x) for x in (a, b)]
        # Twice the total variation that two samples of one law of this size and support show.
        assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.035, name


def test_a_crop_stays_inside_and_never_touches_the_last_row_unless_whole():
    top, left, height, width = boxes(32, (0.08, 1.0))
    assert min(top.min(), left.min()) >= 0
    smaller = height < 32
    assert (top + height)[smaller].max() == 31
    assert (left + width <= 32).all()


def test_narrow_ranges_of_small_crops_hardly_ever_fall_back_to_the_whole_image():
    _, _, height, width = boxes(100, (0.01, 0.12))
    assert (height * width < 10_000).all()


def test_views_keep_shape_and_range(image, key):
    for name in views.__all__:
        view = getattr(views, name)(key, image)
        assert view.shape == image.shape
        assert view.dtype == jnp.float32
        assert float(view.min()) >= 0
        assert float(view.max()) <= 1


def test_views_of_different_keys_differ_and_of_one_key_agree(image):
    first, second = jax.random.split(jax.random.key(1))
    for name in ('crop_only', 'crop_and_flip'):
        view = getattr(views, name)
        assert not np.allclose(view(first, image), view(second, image))
        np.testing.assert_array_equal(view(first, image), view(first, image))


def test_none_is_the_image(image, key):
    np.testing.assert_array_equal(views.none(key, image), image)


def test_flip_mirrors_half_of_the_time(image):
    keys = jax.random.split(jax.random.key(2), 1000)
    flipped = jax.vmap(views.random_flip, in_axes=(0, None))(keys, image)
    mirrored = (np.asarray(flipped) == np.asarray(image[:, ::-1])).all(axis=(1, 2, 3))
    kept = (np.asarray(flipped) == np.asarray(image)).all(axis=(1, 2, 3))
    assert (mirrored ^ kept).all()
    assert 430 < mirrored.sum() < 570  # 4.4 standard deviations


def test_a_grey_one_pixel_image_survives(key):
    image = jnp.full((1, 1, 1), 0.5)
    for name in views.__all__:
        np.testing.assert_allclose(getattr(views, name)(key, image), 0.5, atol=1e-6)


@pytest.mark.parametrize(
    ('options', 'field'),
    [
        ({'area_range': (0.0, 1.0)}, 'area_range'),
        ({'area_range': (0.5, 1.5)}, 'area_range'),
        ({'area_range': (0.9, 0.5)}, 'area_range'),
        ({'area_range': (0.02, 0.09)}, 'area_range'),
        ({'aspect_range': (-1.0, 1.0)}, 'aspect_range'),
        ({'method': 'nearest'}, 'method'),
    ],
)
def test_impossible_options_name_the_field(image, key, options, field):
    with pytest.raises(ValueError, match=field):
        views.crop_only(key, image, **options)
