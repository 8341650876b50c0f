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
    images = np.random.default_rng(0).integers(0, 256, (50, 80, 70, 3), np.uint8)
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


def test_backgrounds_are_mixed_in_and_differ_between_sides(source, backgrounds):
    dataset = probing.cdp(source, backgrounds=backgrounds, mix=0.3)
    assert dataset.sides_differ
    first, second = sides(dataset, np.arange(20))
    for name in dataset.factors:
        np.testing.assert_array_equal(first[name], second[name])
    bare = composed(probing.cdp(source), np.arange(20))['image']
    parts = [(side['image'] - 0.7 * bare) / 0.3 for side in (first, second)]
    for part in parts:
        assert part.min() > -1e-5
        assert part.max() < 1 + 1e-5
    # Each is a square of one of the pictures, as it is.
    windows = np.lib.stride_tricks.sliding_window_view(backgrounds.images, (64, 64), (1, 2))
    corner = np.round(255 * parts[0][0, :2, :2]).astype(int)
    found = np.all(windows[..., :2, :2] == corner.transpose(2, 0, 1), axis=(-1, -2, -3))
    assert found.any()
    assert all(np.abs(one - two).mean() > 0.1 for one, two in zip(*parts, strict=True))


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
    with pytest.raises(BadInput, match='must have 3 channels'):
        probing.cdp(source, backgrounds=source)
    with pytest.raises(BadInput, match='no images of class 2'):
        probing.cdp(backgrounds)
