"""CDP: colour, digit and position are what the factors say, and only the background differs."""

import itertools

import numpy as np
import pytest
from scipy import stats

from contrastive_jax.data import probing, sources
from contrastive_jax.data.probing.cdp import COLOURS
from contrastive_jax.errors import BadInput
from contrastive_jax.randomness import Role, key_for, keys_for_examples
from tests.data.probing.composing import composed, sides


@pytest.fixture(scope='module')
def source():
    return sources.open_source('digits', 'train')


@pytest.fixture(scope='module')
def backgrounds():
    """Picture i has the values 3 y, 3 x and i, from which every crop can be read off."""
    images = np.zeros((50, 80, 70, 3), np.uint8)
    images[..., 0] = 3 * np.arange(80)[:, None]
    images[..., 1] = 3 * np.arange(70)
    images[..., 2] = np.arange(50)[:, None, None]
    return sources.ArraySource(images, np.zeros(50, int), 1, 'backgrounds')


@pytest.fixture(scope='module')
def examples(source):
    return composed(probing.cdp(source), np.arange(4000))


def test_attributes_are_uniform_and_independent(examples):
    names = ('colour', 'digit', 'position')
    for name in names:
        assert stats.chisquare(np.bincount(examples[name], minlength=4)).pvalue > 1e-3
    for one, other in itertools.combinations(names, 2):
        table = np.zeros((4, 4))
        np.add.at(table, (examples[one], examples[other]), 1)
        assert stats.chi2_contingency(table).pvalue > 1e-3
    together = (examples['colour'] * 4 + examples['digit']) * 4 + examples['position']
    np.testing.assert_array_equal(examples['attributes'], together)
    assert stats.chisquare(np.bincount(together, minlength=64)).pvalue > 1e-3


def test_the_region_is_the_square_that_the_digit_lies_in(examples, source):
    regions = probing.cdp(source).regions({'position': examples['position'][:40]})
    assert regions.shape == (40, 64, 64)
    assert not examples['image'][:40][regions == 0].any()  # all ink is within the squares
    np.testing.assert_array_equal(regions.sum(axis=(1, 2)), 28**2)


def test_every_attribute_is_read_from_the_image_by_a_simple_rule(examples, source):
    images = examples['image'][:300]
    quadrants = images.reshape(-1, 2, 32, 2, 32, 3).sum(axis=(2, 4, 5)).reshape(-1, 4)
    np.testing.assert_array_equal(np.argmax(quadrants, 1), examples['position'][:300])
    channels = images.max(axis=(1, 2)) > 0
    for found, colour in zip(channels, examples['colour'], strict=False):
        assert tuple(found) == tuple(np.array(COLOURS[colour]) > 0)
    for i in range(100):
        row, column = divmod(examples['position'][i], 2)
        window = images[i, 32 * row + 2 : 32 * row + 30, 32 * column + 2 : 32 * column + 30]
        picture = np.round(255 * window.max(axis=-1)).astype(np.uint8)
        same = np.all(source.images[..., 0] == picture, axis=(1, 2))
        assert set(source.labels[same]) == {2 + examples['digit'][i]}


def test_the_picture_is_uniform_on_those_of_its_class_however_many():
    labels = np.random.default_rng(0).permutation(np.repeat([2, 3, 4, 5, 6], [1, 2, 3, 20, 1974]))
    known = np.flatnonzero(labels < 6)
    images = np.full((2000, 2, 2, 1), 255, np.uint8)
    images[known] = np.arange(1, 27)[:, None, None, None]  # a value of its own for each picture
    examples = composed(
        probing.cdp(sources.ArraySource(images, labels, num_classes=10), size=4), np.arange(2000)
    )
    drawn = known[np.round(255 * examples['image'].max(axis=(1, 2, 3))).astype(int) - 1]
    np.testing.assert_array_equal(labels[drawn], 2 + examples['digit'])
    for digit in (3, 4, 5):
        _, counts = np.unique(drawn[labels[drawn] == digit], return_counts=True)
        assert len(counts) == np.sum(labels == digit)
        assert stats.chisquare(counts).pvalue > 1e-3


def background_of(image, bare):
    """(top, left, height, width) of the crop that lies behind the digit, and its picture."""
    values = 255 * (image - 0.7 * bare) / 0.3
    # The first and the last pixel may lie in the border, beyond the last centres.
    steps = [np.diff(values[1:-1, 0, 0]) / 3, np.diff(values[0, 1:-1, 1]) / 3]
    sides = [64 * step.mean() for step in steps]
    assert max(np.ptp(step) for step in steps) < 1e-3  # a straight, unbent square
    starts = [values[1, 0, 0] / 3, values[0, 1, 1] / 3]
    corner = [start - 1.5 * side / 64 + 0.5 for start, side in zip(starts, sides, strict=True)]
    assert np.ptp(values[..., 2]) < 1e-2
    return [*corner, *sides, values[0, 0, 2]]


def test_the_background_is_a_square_of_a_picture_anew_for_each_side(source, backgrounds, examples):
    dataset = probing.cdp(source, backgrounds=backgrounds, mix=0.3)
    assert dataset.sides_differ
    first, second = sides(dataset, np.arange(200))
    for name in dataset.factors:
        np.testing.assert_array_equal(first[name], second[name])
    found = np.array(
        [
            background_of(image, digit)
            for side in (first, second)
            for image, digit in zip(
                side['image'].astype(np.float64), examples['image'], strict=False
            )
        ]
    )
    np.testing.assert_allclose(found, np.round(found), atol=0.05)  # whole pixels
    tops, lefts, heights, widths, pictures = np.round(found).astype(int).T
    np.testing.assert_array_equal(heights, widths)
    assert heights.min() >= 35
    assert heights.max() <= 70
    assert min(tops.min(), lefts.min()) >= 0
    assert (tops + heights).max() <= 80
    assert (lefts + widths).max() <= 70
    assert stats.chisquare(np.bincount((heights - 35) // 12, minlength=3)).pvalue > 1e-3
    assert stats.chisquare(np.bincount(pictures, minlength=50)).pvalue > 1e-3
    agreeing = np.mean(pictures[:200] == pictures[200:])
    assert agreeing < 0.1  # 1 in 50 by chance


def test_grey_backgrounds_of_few_pixels_are_enlarged(source, examples):
    white = sources.ArraySource(np.full((2, 5, 1, 1), 255, np.uint8), np.zeros(2, int), 1)
    image = composed(probing.cdp(source, backgrounds=white), np.arange(5))['image']
    np.testing.assert_allclose(image, 0.7 * examples['image'][:5] + 0.3, atol=1e-6)


def test_entropies_are_two_two_two_and_six_bits(source):
    keys = keys_for_examples(key_for(0, Role.TRAIN_EXAMPLES), np.arange(20_000, dtype=np.int32))
    measured = probing.cdp(source).measure(keys)
    for name, bits in (('colour', 2), ('digit', 2), ('position', 2), ('attributes', 6)):
        assert measured[f'{name}_bits'] == pytest.approx(bits, abs=0.01)


def test_options_that_cannot_be(source, backgrounds):
    with pytest.raises(BadInput, match='size is 55; it must be even and at least 56'):
        probing.cdp(source, size=55)
    with pytest.raises(BadInput, match='mix is 1.0, outside'):
        probing.cdp(source, mix=1.0)
    two_channels = sources.ArraySource(np.zeros((1, 4, 4, 2), np.uint8), np.zeros(1, int), 1)
    with pytest.raises(BadInput, match='must have 1 or 3 channels'):
        probing.cdp(source, backgrounds=two_channels)
    with pytest.raises(BadInput, match='no images of class 2'):
        probing.cdp(backgrounds)
