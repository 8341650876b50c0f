"""TFDS without TensorFlow: the fixture that `export_dataset` made, and sets made here."""

import io
import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow_datasets as tfds
from array_record.python.array_record_module import ArrayRecordWriter
from PIL import Image

from contrastive_jax.data import sources
from contrastive_jax.data.sources import arrays, prepared, splitting
from contrastive_jax.errors import BadInput

# A set of 64 digits in one split, made by:
# python -m experiments.export_dataset --source=digits --count=64 --output=.../small_digits/1.0.0
OF_DIGITS = np.arange(64) * 4000 // 64
FIXTURES = Path(__file__).parents[1] / 'fixtures'
PREPARED = Path(__file__).parents[3] / 'shared' / 'tfds'


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv('CONTRASTIVE_JAX_CACHE', str(tmp_path / 'cache'))


def encoded(image, kind='PNG'):
    file = io.BytesIO()
    Image.fromarray(image).save(file, kind)
    file.seek(0)
    return file


def write_set(data_dir, name, features, splits):
    """A prepared set of any features, from lists of examples."""
    directory = data_dir / name / '1.0.0'
    directory.mkdir(parents=True)
    name = name.partition('/')[0]
    features = tfds.features.FeaturesDict(features)
    features.save_config(directory)
    stored = []
    for split, examples in splits.items():
        path = directory / f'{name}-{split}.array_record-00000-of-00001'
        writer = ArrayRecordWriter(str(path), 'group_size:1')
        for example in examples:
            writer.write(features.serialize_example(features.encode_example(example)))
        writer.close()
        template = '{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}'
        stored.append(
            dict(name=split, filepathTemplate=template, shardLengths=[str(len(examples))])
        )
    info = dict(name=name, version='1.0.0', fileFormat='array_record', splits=stored)
    (directory / 'dataset_info.json').write_text(json.dumps(info))


def of_one_colour(value, shape=(6, 9)):
    return encoded(np.full((*shape, 3), value, np.uint8))


def coloured(count, names, split_from=0):
    """Examples in sizes of their own; the colour is 10 times the example's number."""
    return [
        {'image': of_one_colour(10 * i, (5 + i, 9)), 'label': names[i % len(names)]}
        for i in range(split_from, split_from + count)
    ]


def image_and_label(names):
    return {
        'image': tfds.features.Image(shape=(None, None, 3), encoding_format='png'),
        'label': tfds.features.ClassLabel(names=names),
    }


def test_the_fixture_is_the_digits_it_was_made_of():
    digits = sources.open_source('digits', 'train')
    parts = {
        split: sources.open_source('tfds:small_digits', split, str(FIXTURES))
        for split in sources.SPLITS
    }
    is_test = splitting.held_out(range(64))
    for split, chosen in (('train', ~is_test), ('test', is_test)):
        np.testing.assert_array_equal(parts[split].images, digits.images[OF_DIGITS][chosen])
        np.testing.assert_array_equal(parts[split].labels, digits.labels[OF_DIGITS][chosen])
        assert parts[split].num_classes == 10
    assert 'tensorflow' not in sys.modules


def test_the_fixture_is_readable_by_tfds_alone():
    reader = tfds.builder_from_directory(FIXTURES / 'small_digits' / '1.0.0').as_data_source(
        'train'
    )
    digits = sources.open_source('digits', 'train')
    for index in (0, 63):
        example = reader[index]
        of = OF_DIGITS[index]
        np.testing.assert_array_equal(example['image'], digits.images[of])
        assert (example['label'], example['id']) == (digits.labels[of], of)


def test_versions_and_configs_are_found_by_their_directories(tmp_path):
    for name in ('set', 'with_config/small', 'with_config/large'):
        write_set(tmp_path, name, image_and_label(['a']), {'train': coloured(3, 'a')})
    (tmp_path / 'set' / '0.9.0').mkdir()
    opened = sources.open_source('tfds:set:1.0.0,size=4', 'train', str(tmp_path))
    assert len(opened) >= 1
    with pytest.raises(BadInput, match='expected .*set/2.0.0'):
        sources.open_source('tfds:set:2.0.0,size=4', 'train', str(tmp_path))
    with pytest.raises(BadInput, match='tfds:with_config/large, tfds:with_config/small'):
        sources.open_source('tfds:with_config,size=4', 'train', str(tmp_path))
    assert sources.open_source('tfds:with_config/small,size=4', 'train', str(tmp_path)).name


def test_classes_are_kept_and_renumbered_in_their_order():
    digits = sources.open_source('tfds:small_digits', 'train', str(FIXTURES))
    present = np.unique(digits.labels)
    last, first = int(present[-1]), int(present[0])
    some = sources.open_source(
        f'tfds:small_digits,classes=({last},{first})', 'train', str(FIXTURES)
    )
    rows = np.isin(digits.labels, [last, first])
    np.testing.assert_array_equal(some.images, digits.images[rows])
    np.testing.assert_array_equal(some.labels, np.where(digits.labels[rows] == last, 0, 1))
    assert some.num_classes == 2


def test_halves_are_the_classes_by_number():
    digits = sources.open_source('tfds:small_digits', 'train', str(FIXTURES))
    for half, numbers in (('first_half', range(5)), ('second_half', range(5, 10))):
        some = sources.open_source(f'tfds:small_digits,classes={half}', 'train', str(FIXTURES))
        rows = np.isin(digits.labels, numbers)
        np.testing.assert_array_equal(some.labels, digits.labels[rows] - numbers[0])
        assert some.num_classes == 5


@pytest.mark.parametrize('classes', ['(0,99)', "('cat',)", '()', '(1,1)', 'imagenet100', '3'])
def test_classes_that_are_not_there_are_refused(classes):
    with pytest.raises(BadInput, match='class'):
        sources.open_source(f'tfds:small_digits,classes={classes}', 'train', str(FIXTURES))


def test_images_of_many_sizes_need_a_size_and_are_resized(tmp_path):
    write_set(tmp_path, 'flowers', image_and_label(['a', 'b']), {'train': coloured(20, 'ab')})
    with pytest.raises(BadInput, match='tfds:flowers,size=224'):
        sources.open_source('tfds:flowers', 'train', str(tmp_path))
    parts = [
        sources.open_source('tfds:flowers,size=4', split, str(tmp_path)) for split in sources.SPLITS
    ]
    seen = np.concatenate([part.images[:, 0, 0, 0] for part in parts])
    assert sorted(seen.tolist()) == [10 * i for i in range(20)]  # every example, once
    for part in parts:
        assert part.image_shape == (4, 4, 3)
        assert (part.images == part.images[:, :1, :1, :1]).all()
        np.testing.assert_array_equal(part.labels, part.images[:, 0, 0, 0] // 10 % 2)


def test_validation_stands_for_a_test_split_that_lacks_labels(tmp_path):
    names = ['n01440764', *prepared.CLASS_LISTS['imagenet100'].read_text().split()]
    unlabelled = [{'image': of_one_colour(7), 'label': -1}]
    splits = {
        'train': coloured(4, [names[100], names[0], names[1]]),
        'validation': coloured(2, [names[1]]),
        'test': unlabelled,
    }
    write_set(tmp_path, 'imagenet2012', image_and_label(sorted(names)), splits)
    test = sources.open_source('tfds:imagenet2012,size=4', 'test', str(tmp_path))
    assert len(test) == 2
    hundred = 'tfds:imagenet2012,size=4,classes=imagenet100'
    train = sources.open_source(hundred, 'train', str(tmp_path))
    assert train.num_classes == 100
    assert train.labels.tolist() == [99, 0, 99]  # the second example is of none of the hundred
    assert train.images[:, 0, 0, 0].tolist() == [0, 20, 30]


def test_imagenet100_is_a_hundred_different_classes():
    names = prepared.CLASS_LISTS['imagenet100'].read_text().split()
    assert len(set(names)) == 100
    assert names[0] == 'n01558993'
    assert names[-1] == 'n13040303'


@pytest.mark.parametrize('has_area', [True, False])
def test_an_image_of_objects_has_the_class_of_the_largest(tmp_path, has_area):
    # Boxes are (top, left, bottom, right) in [0, 1].
    large, small = (0.0, 0.0, 0.9, 0.9), (0.1, 0.1, 0.2, 0.2)
    objects = [
        [dict(label='cat', bbox=small, area=5), dict(label='dog', bbox=large, area=50)],
        [],
        [dict(label='dog', bbox=small, area=5), dict(label='cat', bbox=large, area=50)],
    ]
    kept = {
        'label': tfds.features.ClassLabel(names=['cat', 'dog']),
        'bbox': tfds.features.BBoxFeature(),
    }
    if has_area:
        kept['area'] = tfds.features.Scalar(np.int64)

    def row(number, rows):
        rows = [
            {key: tfds.features.BBox(*row[key]) if key == 'bbox' else row[key] for key in kept}
            for row in rows
        ]
        return {'image': of_one_colour(number), 'objects': rows}

    features = {
        'image': tfds.features.Image(shape=(None, None, 3), encoding_format='png'),
        'objects': tfds.features.Sequence(kept),
    }
    splits = {
        split: [row(10 * i, rows) for i, rows in enumerate(objects)]
        for split in ('train', 'validation')
    }
    write_set(tmp_path, 'coco', features, splits)
    source = sources.open_source('tfds:coco,size=4', 'train', str(tmp_path))
    assert source.labels.tolist() == [1, 0]
    assert source.images[:, 0, 0, 0].tolist() == [0, 20]  # the one without objects is left out
    assert len(sources.open_source('tfds:coco,size=4', 'test', str(tmp_path))) == 2


def test_a_set_without_labels_has_no_classes(tmp_path):
    features = {'image': tfds.features.Image(shape=(6, 9, 3), encoding_format='png')}
    splits = {
        split: [{'image': of_one_colour(value)} for value in range(3)] for split in sources.SPLITS
    }
    write_set(tmp_path, 'bare', features, splits)
    source = sources.open_source('tfds:bare', 'train', str(tmp_path))
    assert source.image_shape == (6, 9, 3)
    assert source.num_classes == 0
    assert source.labels.tolist() == [-1, -1, -1]
    with pytest.raises(BadInput, match='no class 0'):
        sources.open_source('tfds:bare,classes=(0,)', 'train', str(tmp_path))


def test_a_set_too_large_for_memory_is_decoded_when_asked_for(tmp_path, monkeypatch):
    small = sources.open_source('tfds:small_digits,size=14', 'train', str(FIXTURES))
    monkeypatch.setattr(arrays, 'SMALL_BYTES', 1000)
    large = sources.open_source('tfds:small_digits,size=14', 'train', str(FIXTURES))
    assert isinstance(large, sources.EncodedSource)
    ids = np.array([5, 0, 40])
    for name, values in large.take(ids).items():
        np.testing.assert_array_equal(values, small.take(ids)[name], err_msg=name)


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

    monkeypatch.setattr(prepared, 'REMOTE_TIMEOUT_SECONDS', 0.2)
    monkeypatch.setattr(epath, 'Path', lambda path: time.sleep(30))
    started = time.monotonic()
    with pytest.raises(BadInput, match=r"'gs://bucket/data', which cannot be read \(no answer"):
        sources.open_source('tfds:mnist', 'train', 'gs://bucket/data')
    assert time.monotonic() - started < 5


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
