"""Sources by name, the embedded digits, and arrays."""

import numpy as np
import pytest

from contrastive_jax.data import sources
from contrastive_jax.errors import BadInput


@pytest.fixture(scope='module')
def digits():
    return {split: sources.open_source('digits', split) for split in sources.SPLITS}


def test_digits_are_split_4000_to_1000_stratified(digits):
    assert {split: len(source) for split, source in digits.items()} == {'train': 4000, 'test': 1000}
    assert np.bincount(digits['train'].labels).tolist() == [400] * 10
    assert np.bincount(digits['test'].labels).tolist() == [100] * 10


def test_digits_are_images_not_zeros_and_differ(digits):
    train = digits['train']
    assert train.image_shape == (28, 28, 1)
    assert train.images.dtype == np.uint8
    assert train.images.max() == 255
    assert 25 < train.images.mean() < 45  # about 33 for MNIST
    every = np.concatenate([source.images for source in digits.values()])
    assert len(np.unique(every.reshape(5000, -1), axis=0)) == 5000  # the splits share no image


def test_an_example_and_take_agree(digits):
    train = digits['train']
    taken = train.take(np.array([7, 3999]))
    for row, index in enumerate((7, 3999)):
        example = train[index]
        np.testing.assert_array_equal(taken['image'][row], example['image'])
        assert taken['label'][row] == example['label']
        assert taken['id'][row] == example['id'] == index


@pytest.mark.parametrize('name', ['digit', 'tfds:', 'mnist', '', 'digits:5', 'noise'])
def test_an_unknown_source_names_the_choices(name):
    with pytest.raises(BadInput, match="config.data.source is .*'digits'"):
        sources.open_source(name, 'train')


def test_a_misspelt_source_or_option_is_shown_the_nearest():
    with pytest.raises(BadInput, match="Did you mean 'photographs'"):
        sources.open_source('photograph,size=32', 'train')
    with pytest.raises(BadInput, match=r"data\.source\.sise .* Did you mean 'size'"):
        sources.open_source('noise:10,sise=32', 'train')


def test_an_unknown_split_names_the_choices():
    with pytest.raises(BadInput, match='train, test'):
        sources.open_source('digits', 'validation')


@pytest.mark.parametrize(
    'arrays',
    [
        (np.zeros((3, 4, 4), np.uint8), np.zeros(3)),
        (np.zeros((3, 4, 4, 1), np.float32), np.zeros(3)),
        (np.zeros((3, 4, 4, 1), np.uint8), np.zeros(2)),
        (np.zeros((0, 4, 4, 1), np.uint8), np.zeros(0)),
    ],
)
def test_arrays_that_are_no_source_are_refused(arrays):
    with pytest.raises(BadInput, match='arrays'):
        sources.ArraySource(*arrays, num_classes=2)


@pytest.mark.parametrize(
    ('labels', 'num_classes'), [([0, 3], 3), ([-1, 0], 3), ([0, 0], 0), ([-1, 0], 0)]
)
def test_labels_outside_their_classes_are_refused(labels, num_classes):
    with pytest.raises(BadInput, match='labels of arrays run from'):
        sources.ArraySource(np.zeros((2, 4, 4, 1), np.uint8), np.array(labels), num_classes)
