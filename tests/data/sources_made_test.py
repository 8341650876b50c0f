"""Sources that are made, not read: noise, bare ids, and crops of packaged photographs."""

import numpy as np
import pytest
from PIL import Image
from scipy import stats

from contrastive_jax.data import sources
from contrastive_jax.data.sources import packaged_photographs as photographs
from contrastive_jax.errors import BadInput


def test_noise_is_uniform_and_a_function_of_split_and_id():
    many = sources.open_source('noise:300,size=8,channels=3', 'train')
    few = sources.open_source('noise:7,size=8,channels=3', 'train')
    other = sources.open_source('noise:7,size=8,channels=3', 'test')
    np.testing.assert_array_equal(few.images, many.images[:7])
    assert (few.images != other.images).mean() > 0.9
    counts = np.bincount(many.images.ravel(), minlength=256)
    assert stats.chisquare(counts).pvalue > 1e-3
    assert abs(np.corrcoef(many.images[:-1].ravel(), many.images[1:].ravel())[0, 1]) < 0.02


def test_noise_of_odd_shapes_is_a_function_of_id_too():
    many = sources.open_source('noise:9,size=5,channels=1', 'train')
    few = sources.open_source('noise:4,size=5,channels=1', 'train')
    assert many.image_shape == (5, 5, 1)
    np.testing.assert_array_equal(few.images, many.images[:4])


def test_unlabelled_sources_have_no_classes():
    for name in ('noise:5', 'synthetic:5'):
        source = sources.open_source(name, 'test')
        assert len(source) == 5
        assert source.num_classes == 0
        assert source.take(np.arange(5))['label'].tolist() == [-1] * 5
    assert source.take(np.array([4, 2]))['image'].shape == (2, 1, 1, 1)
    assert source.take(np.array([4, 2]))['id'].tolist() == [4, 2]


@pytest.mark.parametrize(
    ('name', 'sentence'),
    [
        ('noise:many', 'number of examples'),
        ('synthetic:0', 'number of examples'),
        ('noise:10,size=0', 'size=0'),
        ('noise:10,size=big', "size='big'"),
        ('noise:100000000,size=32', 'GiB'),
        ('photographs,size=65', 'size=65'),
        ('photographs,count=1', 'count=1'),
    ],
)
def test_sizes_that_cannot_be_are_refused(name, sentence):
    with pytest.raises(BadInput, match=sentence):
        sources.open_source(name, 'train')


def test_train_and_test_regions_share_no_pixel():
    for width in (256, 257, 384, 601):
        image = Image.fromarray(np.broadcast_to(np.arange(width), (8, width)).astype(np.int32))
        train = np.asarray(photographs.part_of(image, 'train'))
        test = np.asarray(photographs.part_of(image, 'test'))
        assert test.min() - train.max() > 0.04 * width


def test_crops_are_of_their_photograph_and_repeat(monkeypatch):
    # The two that scikit-learn ships.
    monkeypatch.setattr(photographs, 'PHOTOGRAPHS', photographs.PHOTOGRAPHS[:2])
    name = 'photographs,size=16,count=10'
    train, test = (sources.open_source(name, split) for split in sources.SPLITS)
    assert (len(train), len(test)) == (20, 4)
    assert train.image_shape == (16, 16, 3)
    assert train.labels.tolist() == [0] * 10 + [1] * 10
    np.testing.assert_array_equal(sources.open_source(name, 'train').images, train.images)
    assert len(np.unique(train.images.reshape(20, -1), axis=0)) == 20
    # The temple stands before a bright sky, the flower before dark leaves.
    means = train.images.reshape(2, -1).mean(1)
    assert means[0] > means[1] + 20


def test_the_larger_set_needs_scikit_image_and_says_so(monkeypatch):
    monkeypatch.setattr(photographs, 'PHOTOGRAPHS', (('no_such_package', 'a.png'),))
    with pytest.raises(BadInput, match=r'pip install -e "\.\[photographs\]"'):
        sources.open_source('photographs', 'train')


def test_all_ten_photographs():
    pytest.importorskip('skimage')
    test = sources.open_source('photographs,size=32,count=50', 'test')
    assert np.bincount(test.labels).tolist() == [10] * 10
    assert test.images.reshape(10, -1).std(1).min() > 10  # none is flat
