"""The named views: shapes, ranges, what they draw, and what they refuse."""

import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax import views
from contrastive_jax.views import crops, lab

# Views of the Lab colour space take 3 channels and have their own range and channels.
LAB = {'luminance': 1, 'colour': 2}


@pytest.fixture(scope='module')
def image():
    return jnp.asarray(np.random.default_rng(0).uniform(size=(24, 20, 3)), jnp.float32)


@functools.cache
def compiled(name):
    return jax.jit(functools.partial(views.with_parameters, getattr(views, name)))


@pytest.mark.parametrize('name', views.__all__)
def test_shape_range_and_the_same_image_with_and_without_parameters(image, name, key):
    view = getattr(views, name)(key, image)
    assert view.shape == (24, 20, LAB.get(name, 3))
    assert view.dtype == jnp.float32
    if name not in LAB:
        assert float(view.min()) >= 0
        assert float(view.max()) <= 1
    # Compiled and not, with parameters and without. Places in the crop are rounded to 1e-6 of a
    # pixel at 16 to 32, and three factors of the jitter up to 1.8 multiply what that changes.
    found, parameters = compiled(name)(key, image)
    np.testing.assert_allclose(found, view, atol=1e-6 * 1.8**3)
    assert all(number.ndim == 0 for name, number in parameters.items() if name != 'permutation')
    eager, _ = views.with_parameters(getattr(views, name), key, image)
    np.testing.assert_array_equal(eager, view)


@pytest.mark.parametrize('name', views.__all__)
def test_options_are_keywords_that_a_config_can_bind(name):
    key, image, *options = inspect.signature(getattr(views, name)).parameters.values()
    assert (key.name, image.name) == ('key', 'image')
    assert all(option.kind is option.KEYWORD_ONLY for option in options)
    assert getattr(views, name).__doc__


@pytest.mark.parametrize('name', sorted(set(views.__all__) - set(LAB)))
@pytest.mark.parametrize('value', [0.0, 0.5, 1.0])
def test_constant_images_of_one_pixel_or_more_give_no_nan(name, value, key):
    for shape in ((1, 1, 1), (1, 1, 3), (24, 20, 3)):
        for seed in range(2):
            view, _ = compiled(name)(jax.random.key(seed), jnp.full(shape, value))
            assert np.isfinite(view).all()
            assert view.min() >= 0
            assert view.max() <= 1


@pytest.mark.parametrize('name', views.__all__)
def test_images_from_0_to_255_give_no_nan(name, image, key):
    view, _ = compiled(name)(key, jnp.round(255 * image))
    assert np.isfinite(view).all()


def test_views_of_different_keys_differ_and_of_one_key_agree(image):
    first, second = jax.random.split(jax.random.key(1))
    for name in set(views.__all__) - {'none', 'centre_crop', 'flip', 'grey'}:
        view = lambda key, name=name: compiled(name)(key, image)[0]  # noqa: E731
        assert not np.allclose(view(first), view(second)), name
        np.testing.assert_array_equal(view(first), view(first))


def test_none_is_the_image(image, key):
    np.testing.assert_array_equal(views.none(key, image), image)


def test_flip_mirrors_half_of_the_time(image):
    keys = jax.random.split(jax.random.key(2), 1000)
    view = functools.partial(views.with_parameters, views.flip)
    flipped, parameters = jax.vmap(view, in_axes=(0, None))(keys, image)
    mirrored = (np.asarray(flipped) == np.asarray(image[:, ::-1])).all(axis=(1, 2, 3))
    kept = (np.asarray(flipped) == np.asarray(image)).all(axis=(1, 2, 3))
    assert (mirrored ^ kept).all()
    np.testing.assert_array_equal(mirrored, parameters['flipped'])
    assert 430 < mirrored.sum() < 570  # 4.4 standard deviations


def test_the_box_of_the_parameters_is_the_crop(image, key):
    view, parameters = views.with_parameters(views.crop_only, key, image, method='linear')
    box = tuple(int(parameters[name]) for name in crops.BOX)
    assert (view == crops.crop_and_resize(image, box, (24, 20), 'linear')).all()
    # A view of one operation uses the key itself, so that crops do not depend on the package.
    drawn = crops.tensorflow_box(key, 24, 20, (0.08, 1.0), (0.75 * 20 / 24, 4 / 3 * 20 / 24))
    assert box == tuple(int(number) for number in drawn)


def test_simclr_applies_its_operations_in_order(image):
    whole = dict(area_range=(1.0, 1.0), aspect_range=(1.0, 1.0))
    certain = dict(flip_probability=1.0, jitter_probability=1.0, grey_probability=1.0)
    view, found = views.with_parameters(
        views.simclr_imagenet, jax.random.key(3), image, **whole, **certain, blur_probability=1.0
    )
    jittered = views.sets.random_jitter().apply(image[:, ::-1], found)
    greyed = jnp.clip(views.sets.random_grey().apply(jittered, found), 0.0, 1.0)
    np.testing.assert_allclose(view, views.sets.random_blur().apply(greyed, found), atol=2e-6)
    assert all(found[name] for name in ('flipped', 'jittered', 'grey'))
    assert found['sigma'] > 0
    assert 0.2 <= found['brightness'] <= 1.8
    assert abs(found['hue']) <= 0.2


def test_strength_scales_the_jitter_of_simclr(image):
    keys = jax.random.split(jax.random.key(0), 500)
    view = functools.partial(views.with_parameters, views.simclr_cifar, jitter_probability=1.0)
    _, found = jax.jit(jax.vmap(view, in_axes=(0, None)))(keys, image)
    for name, centre, most in (('brightness', 1, 0.4), ('saturation', 1, 0.4), ('hue', 0, 0.1)):
        distance = np.abs(np.asarray(found[name]) - centre)
        assert 0.97 * most < distance.max() <= most * 1.0001


def test_probability_leaves_out_the_crop(image):
    operation = crops.random_resized_crop(probability=0.25)
    keys = jax.random.split(jax.random.key(0), 1000)
    found = jax.vmap(lambda key: operation.sample(key, (100, 80, 3)))(keys)
    whole = (np.asarray(found['crop_height']) == 100) & (np.asarray(found['crop_width']) == 80)
    assert 690 < whole.sum() < 810


def test_a_crop_made_on_the_host_is_taken_as_it_is(image, key):
    view, found = views.with_parameters(views.crop_only, key, image, law='host')
    np.testing.assert_array_equal(view, image)
    assert found == {}
    _, found = views.with_parameters(views.simclr_imagenet, key, image, law='host')
    assert 'hue' in found
    assert 'crop_top' not in found
    # The next operation draws with the key that it would have as the first.
    flipped = views.crop_and_flip(key, image, law='host')
    np.testing.assert_array_equal(flipped, views.flip(key, image))
    with pytest.raises(ValueError, match=r'law .*crop_probability 0\.5'):
        crops.random_resized_crop(law='host', probability=0.5)


def test_size_is_the_side_of_the_result_and_squares_stay_squares(image, key):
    for name in ('crop_only', 'simclr_imagenet', 'instance_discrimination', 'centre_crop'):
        view = functools.partial(getattr(views, name), size=40)
        assert jax.eval_shape(view, key, image).shape == (40, 40, 3)
    _, found = views.with_parameters(
        views.crop_only, key, jnp.zeros((24, 90, 3)), size=8, aspect_range=(1.0, 1.0)
    )
    assert found['crop_height'] == found['crop_width']


def test_the_central_crop_keeps_seven_eighths_of_the_limiting_side():
    row = jnp.arange(64.0)[None, :, None] * jnp.ones((32, 1, 1)) / 64
    view = views.centre_crop(jax.random.key(0), row, size=28)
    # 28 of 32 rows, and the middle 28 of 64 columns, each one pixel of the result.
    np.testing.assert_allclose(view[0, :, 0] * 64, np.arange(18, 46), atol=1e-4)


@pytest.mark.parametrize('patch', [1, 4])
def test_scramble_moves_whole_patches_as_its_permutation_says(image, patch, key):
    view, found = views.with_parameters(views.scramble, key, image, patch=patch)
    source, moved = np.asarray(image), np.asarray(view)
    columns = 20 // patch
    assert sorted(found['permutation'].tolist()) == list(range(480 // patch**2))
    for place, origin in enumerate(found['permutation'].tolist()):
        to, of = (tuple(patch * n for n in divmod(at, columns)) for at in (place, origin))
        np.testing.assert_array_equal(
            moved[to[0] : to[0] + patch, to[1] : to[1] + patch],
            source[of[0] : of[0] + patch, of[1] : of[1] + patch],
        )


def test_luminance_and_colour_of_one_key_are_of_one_crop(image, key):
    crop = views.crop_and_flip(
        key, image, area_range=(0.2, 1.0), method='linear', law='torchvision'
    )
    split = lab.split_lab(crop)
    np.testing.assert_allclose(views.luminance(key, image), split[0], atol=1e-5)
    np.testing.assert_allclose(views.colour(key, image), split[1], atol=1e-5)


@pytest.mark.parametrize(
    ('name', 'options', 'field'),
    [
        ('crop_only', {'area_range': (0.0, 1.0)}, 'area_range'),
        ('crop_only', {'area_range': (0.5, 1.5)}, 'area_range'),
        ('crop_only', {'area_range': (0.9, 0.5)}, 'area_range'),
        ('crop_only', {'area_range': (0.02, 0.09)}, 'area_range'),
        ('crop_only', {'aspect_range': (-1.0, 1.0)}, 'aspect_range'),
        ('crop_only', {'method': 'nearest'}, "'linear', 'cubic'"),
        ('crop_only', {'law': 'pillow'}, "'tensorflow', 'torchvision', 'host'"),
        ('crop_only', {'law': 'host', 'size': 8}, 'size 8'),
        ('crop_only', {'law': 'host', 'area_range': (0.02, 0.09)}, 'area_range'),
        ('crop_only', {'size': 0}, 'size'),
        ('crop_only', {'size': 3.5}, 'size'),
        ('flip', {'flip_probability': -0.1}, 'flip_probability'),
        ('grey', {'grey_probability': 2}, 'grey_probability'),
        ('simclr_imagenet', {'strength': 1.3}, 'strength'),
        ('simclr_imagenet', {'blur_probability': 1.5}, 'blur_probability'),
        ('centre_crop', {'share': 0.0}, 'share'),
        ('scramble', {'patch': 7}, 'patch'),
        ('scramble', {'patch': 0}, 'patch'),
    ],
)
def test_impossible_options_name_the_field(image, key, name, options, field):
    with pytest.raises(ValueError, match=field):
        jax.eval_shape(functools.partial(getattr(views, name), **options), key, image)


@pytest.mark.parametrize('shape', [(0, 4, 3), (4, 4), (4, 4, 0)])
def test_what_is_no_image_is_refused(key, shape):
    with pytest.raises(ValueError, match='shape'):
        views.none(key, jnp.zeros(shape))


@pytest.mark.parametrize('name', views.__all__)
def test_with_nothing_drawn_the_image_stays_but_for_what_draws_nothing(image, name, key):
    found = views.without_draws(getattr(views, name), image)
    expected = {
        'luminance': lambda: lab.split_lab(image)[0],
        'colour': lambda: lab.split_lab(image)[1],
        'centre_crop': lambda: views.centre_crop(key, image),
    }.get(name, lambda: image)()
    np.testing.assert_array_equal(found, expected)


def test_with_nothing_drawn_the_whole_image_takes_the_size_of_the_view(image, key):
    found = views.without_draws(views.simclr_imagenet, image, size=12)
    assert found.shape == views.simclr_imagenet(key, image, size=12).shape
    whole = jax.image.resize(image, (12, 12, 3), 'cubic', antialias=False)
    np.testing.assert_allclose(found, jnp.clip(whole, 0, 1), atol=1e-6)


@pytest.mark.parametrize(
    ('name', 'options', 'sentence'),
    [
        ('crop_only', dict(area_range=0.5), 'area_range is 0.5, not two rising numbers'),
        ('crop_only', dict(area_range=('a', 'b')), "area_range is .'a', 'b'., not two"),
        ('crop_only', dict(area_range=(0.0, 1.0)), 'area_range is'),
        ('crop_only', dict(area_range=(0.5, 1.5)), 'area_range is'),
        ('crop_only', dict(aspect_range=(0.001, float('inf'))), 'aspect_range is'),
        ('crop_only', dict(crop_probability='x'), "crop_probability is 'x', not a number"),
        ('simclr_cifar', dict(strength='abc'), "strength is 'abc', not a number in .0, 1.25"),
        ('simclr_cifar', dict(strength=True), 'strength is True'),
        ('simclr_cifar', dict(additive_brightness='no'), "additive_brightness is 'no'"),
        ('simclr_imagenet', dict(sigma_range=(2, 1)), 'sigma_range is'),
        ('simclr_imagenet', dict(blur_probability='x'), "blur_probability is 'x'"),
        ('jitter', dict(hue=0.6), 'hue is 0.6, not a number in .0, 0.5'),
        ('flip', dict(flip_probability='0.5'), "flip_probability is '0.5'"),
        ('centre_crop', dict(share='x'), "share is 'x'"),
        ('instance_discrimination', dict(grey_first=1), 'grey_first is 1, not True or False'),
    ],
)
def test_an_option_that_cannot_be_is_named(image, key, name, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        getattr(views, name)(key, image, **options)


def test_without_strength_simclr_leaves_the_colours_alone(image, key):
    _, found = views.with_parameters(views.simclr_imagenet, key, image, strength=0)
    assert set(found) == {*crops.BOX, 'flipped', 'sigma'}


def test_grey_before_the_jitter_leaves_grey_images_grey(image):
    view = functools.partial(
        views.instance_discrimination, grey_probability=1.0, grey_first=True, hue=0.5
    )
    for seed in range(3):
        found = np.asarray(view(jax.random.key(seed), image))
        np.testing.assert_allclose(found, found[..., :1] * np.ones(3), atol=1e-5)


def test_the_ratio_of_torchvision_is_in_pixels_and_that_of_tensorflow_relative():
    image, keys = jnp.zeros((32, 64, 3)), jax.random.split(jax.random.key(0), 500)
    for law, centre in (('torchvision', 1.0), ('tensorflow', 2.0)):
        drawn = functools.partial(
            views.with_parameters, views.crop_only, law=law, area_range=(0.2, 0.5)
        )
        _, found = jax.vmap(drawn, in_axes=(0, None))(keys, image)
        ratios = np.asarray(found['crop_width']) / np.asarray(found['crop_height'])
        low, high = np.quantile(ratios, [0.02, 0.98])
        assert 0.7 * centre < low < centre < high < 1.42 * centre


@pytest.mark.parametrize('view', ['simclr_cifar', functools.partial(views.crop_only, size=8)])
def test_parameters_of_what_is_no_view_are_refused_in_a_sentence(image, key, view):
    with pytest.raises(ValueError, match='not a function of contrastive_jax.views'):
        views.with_parameters(view, key, image)
