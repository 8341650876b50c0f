"""Sources: the embedded digits, and TFDS without TensorFlow."""

import sys
import time
from pathlib import Path

import numpy as np
import pytest

from contrastive_jax.data import sources
from contrastive_jax.errors import BadInput

PREPARED = Path(__file__).parents[3] / 'shared' / 'tfds'


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


@pytest.mark.parametrize('name', ['digit', 'tfds:', 'mnist', ''])
def test_an_unknown_source_names_the_choices(name):
    with pytest.raises(BadInput, match="config.data.source is .*'digits'"):
        sources.open_source(name, 'train')


def test_an_unknown_split_names_the_choices():
    with pytest.raises(BadInput, match='train, test'):
        sources.open_source('digits', 'validation')


def test_a_directory_without_the_data_set_says_how_to_prepare_it(tmp_path):
    with pytest.raises(BadInput) as raised:
        sources.open_source('tfds:mnist', 'train', str(tmp_path))
    message = str(raised.value)
    assert str(tmp_path / 'mnist') in message
    assert f'tfds build mnist --file_format=array_record --data_dir={tmp_path}' in message


def test_a_directory_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadInput, match='config.data.data_dir'):
        sources.open_source('tfds:mnist', 'train', str(tmp_path / 'absent'))


def test_a_data_set_that_tfds_does_not_know_is_one_sentence(tmp_path):
    with pytest.raises(BadInput, match="'tfds:no_such_set'") as raised:
        sources.open_source('tfds:no_such_set', 'train', str(tmp_path))
    assert '\n' not in str(raised.value)


def test_a_remote_directory_that_never_answers_is_reported_in_time(monkeypatch):
    from etils import epath

    monkeypatch.setattr(sources, 'REMOTE_TIMEOUT_SECONDS', 0.2)
    monkeypatch.setattr(epath, 'Path', lambda path: time.sleep(30))
    started = time.monotonic()
    with pytest.raises(BadInput, match=r"'gs://bucket/data', which cannot be read \(no answer"):
        sources.open_source('tfds:mnist', 'train', 'gs://bucket/data')
    assert time.monotonic() - started < 5


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


@pytest.mark.skipif(not PREPARED.is_dir(), reason='no prepared TFDS data beside the repository')
def test_prepared_mnist_opens_without_tensorflow(tmp_path, monkeypatch):
    monkeypatch.setenv('CONTRASTIVE_JAX_CACHE', str(tmp_path))
    test = sources.open_source('tfds:mnist', 'test', str(PREPARED))
    assert len(test) == 10_000
    assert test.image_shape == (28, 28, 1)
    assert test.num_classes == 10
    assert np.bincount(test.labels).tolist() == [  # of the public test set
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
    assert 'tensorflow' not in sys.modules
    again = sources.open_source('tfds:mnist', 'test', str(PREPARED))
    np.testing.assert_array_equal(again.images, test.images)
