"""DigitOnImageNet: nine copies of the declared digit, shared by both views."""

import numpy as np
import pytest
from scipy import stats

from contrastive_jax.data import probing, sources
from contrastive_jax.errors import BadInput
from tests.data.probing.composing import composed, sides


@pytest.fixture(scope='module')
def digits():
    return sources.open_source('digits', 'train')


@pytest.fixture(scope='module')
def hosts():
    images = np.random.default_rng(0).integers(0, 100, (600, 20, 30, 3), np.uint8)
    return sources.ArraySource(images, np.arange(600) % 4, num_classes=4, name='hosts')


@pytest.mark.parametrize('blend', ['maximum', 'sum'])
def test_nine_copies_of_the_declared_digit_on_the_enlarged_host(hosts, digits, blend):
    bare = composed(probing.digit_on_image(hosts, digits=digits, num_unique=1), [3])['image'][0]
    dataset = probing.digit_on_image(hosts, digits=digits, num_unique=16, blend=blend)
    examples = composed(dataset, np.arange(20))
    assert bare.shape == (112, 112, 3)
    layer = np.zeros((20, 112, 112, 1))
    for i, index in enumerate(examples['digit_index']):
        assert examples['digit'][i] == digits.labels[index]
        for top in (16, 50, 84):
            for left in (16, 50, 84):
                layer[i, top : top + 28, left : left + 28] = digits.images[index] / 255
    image = examples['image']
    there = np.broadcast_to(layer == 0, image.shape)
    np.testing.assert_array_equal(image[3][there[3]].max() < 0.45, True)  # the host alone
    if blend == 'maximum':
        assert np.all(image >= layer - 1e-6)
        bright = np.broadcast_to(layer > 0.5, image.shape)
        np.testing.assert_allclose(image[bright], np.broadcast_to(layer, image.shape)[bright])
    else:
        host = np.where(there, image, np.nan)
        assert np.nanmax(host) < 0.45
        assert np.all(image <= 1)
        assert np.all(image >= np.minimum(layer, 1) - 1e-6)
        assert image.max() == 1


def test_places_of_a_host_of_224_are_the_notebooks(digits):
    black = sources.ArraySource(np.zeros((2, 224, 224, 1), np.uint8), np.zeros(2, int), 1)
    image = composed(probing.digit_on_image(black, digits=digits, num_unique=1), [0])['image'][0]
    expected = np.zeros((224, 224, 1))
    for top in (33, 100, 168):
        for left in (33, 100, 168):
            expected[top : top + 28, left : left + 28] = digits.images[0] / 255
    np.testing.assert_allclose(image, expected, atol=1e-6)


def test_digits_are_uniform_and_independent_of_the_host(hosts, digits):
    dataset = probing.digit_on_image(hosts, digits=digits, num_unique=4)
    examples = composed(dataset, np.arange(600))
    table = np.zeros((4, 4))
    np.add.at(table, (examples['label'], examples['digit_index']), 1)
    assert stats.chisquare(table.sum(axis=0)).pvalue > 1e-3
    assert stats.chi2_contingency(table).pvalue > 1e-3


def test_class_coverage_and_entropy_are_measured(hosts, digits):
    from contrastive_jax.randomness import Role, key_for, keys_for_examples

    keys = keys_for_examples(key_for(0, Role.TRAIN_EXAMPLES), np.arange(5000, dtype=np.int32))
    dataset = probing.digit_on_image(hosts, digits=digits, num_unique=8)
    measured = dataset.measure(keys)
    assert measured['digit_classes'] == len(np.unique(digits.labels[:8]))
    assert measured['digit_index_bits'] == pytest.approx(3, abs=0.01)
    balanced = probing.digit_on_image(hosts, digits=digits, num_unique=10, balanced=True)
    assert balanced.measure(keys[:9])['digit_classes'] == 10
    np.testing.assert_array_equal(balanced.tables['digit_labels'], np.arange(10))


def test_the_digit_is_of_the_example_or_of_the_visit(hosts, digits):
    for fresh in (False, True):
        dataset = probing.digit_on_image(hosts, digits=digits, num_unique=500, fresh=fresh)
        first, second = sides(dataset, np.arange(8))
        later, _ = sides(dataset, np.arange(8), step=1)
        np.testing.assert_array_equal(first['digit_index'], second['digit_index'])
        assert np.array_equal(first['digit_index'], later['digit_index']) == (not fresh)


def test_the_test_split_has_all_digits_whatever_their_number_in_training(hosts, digits):
    options = dict(digits=digits, num_unique=4, balanced=True)
    assert probing.digit_on_image(hosts, **options).factors['digit_index'] == 4
    held_out = probing.digit_on_image(hosts, **options, split='test')
    assert held_out.factors['digit_index'] == len(digits)
    assert set(composed(held_out, np.arange(200))['digit']) == set(range(10))


def test_options_that_cannot_be(hosts, digits):
    with pytest.raises(BadInput, match='num_unique is 4001; digits/train has 4000 digits'):
        probing.digit_on_image(hosts, digits=digits, num_unique=4001)
    with pytest.raises(BadInput, match="blend is 'mean', not one of"):
        probing.digit_on_image(hosts, digits=digits, blend='mean')
    with pytest.raises(BadInput, match='must be square'):
        probing.digit_on_image(hosts, digits=hosts)
    with pytest.raises(BadInput, match='no labels'):
        probing.digit_on_image(
            hosts, digits=sources.ArraySource(digits.images, np.full(4000, -1), 0, 'unlabelled')
        )
