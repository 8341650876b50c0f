"""Regions cover the pixels where digits lie, and no others."""

import numpy as np
import pytest

from contrastive_jax.data import probing, sources
from contrastive_jax.data.probing.regions import box_regions
from tests.data.probing.composing import composed


@pytest.fixture(scope='module')
def squares():
    """Digits that are whole squares, one grey a class: where they lie is to be seen."""
    labels = np.arange(20) % 10
    images = np.broadcast_to(20 * (labels + 1)[:, None, None, None], (20, 12, 12, 1))
    return sources.ArraySource(images.astype(np.uint8), labels, 10, 'squares')


@pytest.mark.parametrize(
    'options',
    [
        dict(num_digits=4, placement='grid', sizes=12),
        dict(num_digits=3, sizes=(7, 20, 9)),
    ],
)
def test_multidigits_regions_are_the_pixels_of_its_digits(squares, options):
    dataset = probing.multidigits(squares, canvas=40, **options)
    examples = composed(dataset, np.arange(20))
    regions, image = dataset.regions(examples), examples['image'][..., 0]
    assert regions.shape == (20, 40, 40)
    np.testing.assert_array_equal(regions > 0, image > 0)
    for n in range(20):
        for j in range(1, options['num_digits'] + 1):
            # Where digits overlap the brighter one is seen, whichever has the region.
            grey = 20 * (examples[f'label_{j}'][n] + 1) / 255
            assert np.all(image[n][regions[n] == j] >= grey - 1e-5)
            if options.get('placement') == 'grid':
                np.testing.assert_allclose(image[n][regions[n] == j], grey, atol=1e-5)
                assert np.sum(regions[n] == j) == 144


def test_digit_on_image_regions_are_the_nine_copies(squares):
    black = sources.ArraySource(np.zeros((6, 130, 120, 1), np.uint8), np.zeros(6, int), 1)
    dataset = probing.digit_on_image(black, digits=squares)
    examples = composed(dataset, np.arange(6))
    regions = dataset.regions(examples)
    np.testing.assert_array_equal(regions, examples['image'][..., 0] > 0)
    assert np.sum(regions[0]) == 9 * 144


def test_the_smaller_lies_on_the_larger_and_the_later_on_the_earlier():
    places = [[[0, 0], [1, 1], [2, 2]], [[1, 1], [0, 0], [0, 3]]]
    regions = box_regions(places, (2, 3, 2), (4, 5))
    expected = [
        [[1, 1, 0, 0, 0], [1, 1, 2, 2, 0], [0, 2, 3, 3, 0], [0, 2, 3, 3, 0]],
        [[2, 2, 2, 3, 3], [2, 1, 1, 3, 3], [2, 1, 1, 0, 0], [0, 0, 0, 0, 0]],
    ]
    np.testing.assert_array_equal(regions, expected)


def test_where_nothing_has_a_place_there_are_no_regions(squares):
    assert probing.plain(squares).regions is None
