"""The laws of a random box: TensorFlow's and torchvision's."""

import jax
import numpy as np
import pytest
from scipy import stats

from contrastive_jax.data.sources.host_crops import sample_crop_box
from contrastive_jax.views.boxes import tensorflow_box, torchvision_box


def boxes(size, area_range, law=tensorflow_box, count=40_000, aspect_range=(3 / 4, 4 / 3)):
    height, width = size if isinstance(size, tuple) else (size, size)
    keys = jax.random.split(jax.random.key(0), count)
    draw = jax.vmap(lambda key: law(key, height, width, area_range, aspect_range))
    return np.stack(jax.jit(draw)(keys))


# Quantiles 5, 25, 50, 75, 95 % and the mean of the area, from 40,000 draws of TensorFlow itself:
# the fact sheet of chen2021, section 5. None: it gives the mean alone.
LAW = {
    (224, 0.08): ([0.120, 0.218, 0.386, 0.601, 0.822], 0.421),
    (112, 0.08): (None, 0.425),
    (32, 0.08): ([0.118, 0.219, 0.404, 0.610, 0.844], 0.431),
    (28, 0.5): ([0.510, 0.561, 0.663, 0.765, 0.895], 0.678),
}


@pytest.mark.parametrize(('size', 'least'), LAW)
def test_the_area_follows_the_law_of_tensorflow(size, least):
    quantiles, mean = LAW[size, least]
    _, _, height, width = boxes(size, (least, 1.0))
    area = height * width / size**2
    if quantiles:
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


@pytest.mark.parametrize(
    ('size', 'area_range', 'aspect_range'),
    [
        (28, (0.9, 1.0), (3 / 4, 4 / 3)),
        (64, (0.95, 1.0), (3 / 4, 4 / 3)),
        ((64, 128), (0.6, 1.0), (3 / 4, 4 / 3)),
        (28, (0.5, 1.0), (0.2, 5.0)),
        (28, (0.08, 0.5), (3 / 4, 4 / 3)),
    ],
)
def test_the_device_and_the_host_have_one_law_where_many_draws_are_refused(
    size, area_range, aspect_range
):
    count, generator = 4000, np.random.default_rng(0)
    shape = size if isinstance(size, tuple) else (size, size)
    device = boxes(size, area_range, count=count, aspect_range=aspect_range)
    host = np.array(
        [sample_crop_box(generator, *shape, area_range, aspect_range) for _ in range(count)]
    ).T
    for ours, theirs in zip(device, host, strict=True):
        assert stats.ks_2samp(ours, theirs).pvalue > 1e-4
    whole = [((law[2] == shape[0]) & (law[3] == shape[1])).mean() for law in (device, host)]
    assert abs(whole[0] - whole[1]) < 0.03


@pytest.mark.parametrize(('size', 'least'), [(32, 0.08), (28, 0.5)])
def test_boxes_have_the_distribution_of_a_plain_loop(size, least):
    ours = boxes(size, (least, 1.0), count=20_000)
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


def test_the_area_and_aspect_follow_the_law_of_torchvision():
    _, _, height, width = boxes(224, (0.08, 1.0), torchvision_box)
    area = height * width / 224**2
    # The same fact sheet.
    found = np.quantile(area, [0.05, 0.25, 0.5, 0.75, 0.95])
    np.testing.assert_allclose(found, [0.120, 0.278, 0.475, 0.672, 0.852], atol=0.007)
    np.testing.assert_allclose(area.mean(), 0.478, atol=0.004)
    # The logarithm of the aspect is uniform where no draw is refused.
    _, _, height, width = boxes(224, (0.2, 0.4), torchvision_box)
    logarithm = np.log(width / height) / np.log(4 / 3)
    np.testing.assert_allclose(np.quantile(logarithm, [0.1, 0.5, 0.9]), [-0.8, 0.0, 0.8], atol=0.03)


def test_crops_of_torchvision_reach_every_place_with_equal_chance():
    top, left, height, width = boxes(8, (0.2, 0.3), torchvision_box)
    assert min(top.min(), left.min()) == 0
    assert (top + height).max() == (left + width).max() == 8
    of_four = top[height == 4]
    counts = np.bincount(of_four, minlength=5)
    expected = len(of_four) / 5
    assert ((counts - expected) ** 2 / expected).sum() < 18.5  # 4 degrees of freedom, p = 0.001


def test_where_no_aspect_fits_torchvision_takes_the_largest_central_box():
    # A 10 x 100 image: no crop of 90 % of its area is less than twice as wide as high.
    top, left, height, width = boxes((10, 100), (0.9, 1.0), torchvision_box, count=10)
    np.testing.assert_array_equal([top[0], left[0], height[0], width[0]], [0, 43, 10, 13])
