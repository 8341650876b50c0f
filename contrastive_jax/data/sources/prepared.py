"""Data sets that TFDS has prepared as array_record, read without TensorFlow."""

import hashlib
import re
import threading
from pathlib import Path

import numpy as np
from tqdm import tqdm

from contrastive_jax import names
from contrastive_jax.data import cache
from contrastive_jax.data.sources import splitting
from contrastive_jax.data.sources.arrays import check_option
from contrastive_jax.data.sources.encoded import EncodedSource, in_memory_if_small
from contrastive_jax.data.sources.image_folder import check_fit
from contrastive_jax.errors import BadInput

# How long a remote directory may take to answer before it is reported as unreachable.
REMOTE_TIMEOUT_SECONDS = 15

# Sets whose split called 'test' was published without labels.
TEST_WITHOUT_LABELS = ('imagenet2012', 'coco')

# Lists of class names that come with this package.
HALVES = ('first_half', 'second_half')
CLASS_LISTS = {'imagenet100': Path(__file__).with_name('imagenet100.txt')}


def tfds(argument, split, data_dir, *, size=None, fit='stretch', classes=None):
    """'tfds:mnist', 'tfds:tf_flowers,size=224', 'tfds:cifar10,classes=(0,1,2,3,4)'.

    A split named 'test' is the set's own, or its 'validation' where it has no labelled test split
    (imagenet2012, imagenette, coco). Of a set with nothing but 'train' (tf_flowers), one example
    in ten is held out by a hash of its position. Labels are those of the feature 'label' (the fine
    ones of cifar100). In coco an image has the class of its largest object, and images without an
    object are left out. A set with neither has no labels.

    Args:
      argument: what TFDS calls the set, with its config or version if need be: 'coco/2017'.
      split: 'train' or 'test'.
      data_dir: the directory of TFDS, local or gs://; '' for its default.
      size: height and width that images are decoded to. None keeps their own, which must be one
        for all.
      fit: 'stretch' or 'centre', see `host_crops.decode`.
      classes: None for all; else the classes to keep, which become labels 0 to k-1 in this order:
        a tuple of numbers or of class names, 'first_half' or 'second_half' of the numbers (the
        5A and 5B of CIFAR-10, 50A and 50B of CIFAR-100 in lee2023), or 'imagenet100' for the 100
        of wang2021.

    Returns:
      An `ArraySource`, decoded once and cached, or an `EncodedSource` above 2 GiB.

    Raises:
      BadInput: a set that is not prepared, cannot be used, or lacks a class.
    """
    import tensorflow_datasets

    check_fit(fit)
    if size is not None:
        check_option('size', size, 1)
    builder = open_builder(argument, data_dir)
    features = dict(builder.info.features.items())
    shape = shape_of(argument, features, size)
    label_of, class_names = labels_in(features)
    stored, whole = stored_split(argument, builder.info.splits, split)
    try:
        reader = builder.as_data_source(
            stored, decoders={'image': tensorflow_datasets.decode.SkipDecoding()}
        )
    except (NotImplementedError, ValueError) as error:
        reason = f'it cannot be read as array_record; TFDS says: {str(error).splitlines()[0]}'
        raise BadInput(_how_to_prepare(argument, data_dir, reason)) from error
    cache_name = f'tfds_{argument}_{split}'.replace('/', '_').replace(':', '_')
    fingerprint = _fingerprint(builder, builder.info.splits[stored])
    labels = read_labels(reader, label_of, cache_name, fingerprint)
    positions = np.arange(len(reader)) if whole else splitting.of_split(range(len(reader)), split)
    chosen = chosen_classes(argument, classes, class_names)
    positions, labels = kept_rows(positions, labels[positions], chosen, bool(class_names))
    source = EncodedSource(
        read=lambda at: (f'example {positions[at]}', reader[int(positions[at])]['image']),
        labels=labels,
        num_classes=len(class_names if chosen is None else chosen),
        image_shape=shape,
        fit=fit,
        name=f'{argument}/{split}',
    )
    return in_memory_if_small(source, cache_name, f'{fingerprint} {chosen}')


def open_builder(dataset, data_dir):
    """The builder of a prepared set, from its files alone.

    The code that prepared it is not asked: for many sets it needs TensorFlow.
    """
    import tensorflow_datasets
    from etils import epath

    _check_reachable(data_dir)
    path, _, version = dataset.partition(':')
    home = epath.Path(data_dir or tensorflow_datasets.core.constants.DATA_DIR) / path
    found = versions_in(home)
    if not found and home.is_dir():
        configs = {each.name: versions_in(each) for each in home.iterdir() if each.is_dir()}
        configs = {name: versions for name, versions in configs.items() if versions}
        if len(configs) > 1:
            raise BadInput(
                f"config.data.source is 'tfds:{dataset}', of which several configs are prepared; "
                f'name one: {", ".join(f"tfds:{path}/{name}" for name in sorted(configs))}.'
            )
        found = next(iter(configs.values()), {})
    if version:
        found = {key: each for key, each in found.items() if each.name == version}
    if not found:
        expected = f'expected {home / (version or "<version>")}'
        raise BadInput(_how_to_prepare(dataset, data_dir, expected))
    return tensorflow_datasets.builder_from_directory(found[max(found)])


def versions_in(home):
    """Version, as a tuple of numbers, to directory, of what is prepared right under a path."""
    if not home.is_dir():
        return {}
    return {
        tuple(int(number) for number in each.name.split('.')): each
        for each in home.iterdir()
        if re.fullmatch(r'\d+\.\d+\.\d+', each.name) and (each / 'features.json').exists()
    }


def shape_of(dataset, features, size):
    """(height, width, channels) to decode to."""
    image = features.get('image')
    if image is None or image.np_dtype != np.uint8 or len(image.shape) != 3:
        raise BadInput(
            f"config.data.source is 'tfds:{dataset}', whose features are {sorted(features)}; "
            "it must have 'image' of uint8 [h, w, c]."
        )
    height, width, channels = image.shape
    if size is None and not (height and width):
        raise BadInput(
            f"config.data.source is 'tfds:{dataset}', whose images differ in size; add the size "
            f"to decode them to, as in 'tfds:{dataset},size=224'."
        )
    return (size or height, size or width, channels or 3)


def labels_in(features):
    """(function of an example to its label or -1, names of the classes)."""
    if hasattr(features.get('label'), 'num_classes'):
        return lambda example: example['label'], features['label'].names
    objects = dict(getattr(features.get('objects'), 'feature', {}).items())
    if 'label' in objects and {'area', 'bbox'} & set(objects):
        return largest_object, objects['label'].names
    return lambda example: -1, []


def largest_object(example):
    """The label of the object of the largest area, or of the largest box; -1 for no object."""
    objects = example['objects']
    if not len(objects['label']):
        return -1
    if 'area' in objects:
        return objects['label'][int(np.argmax(objects['area']))]
    top, left, bottom, right = np.asarray(objects['bbox']).T
    return objects['label'][int(np.argmax((bottom - top) * (right - left)))]


def stored_split(dataset, splits, split):
    """(name of the stored split to read, whether all of it is meant)."""
    if split == 'test':
        unlabelled = dataset.partition('/')[0].partition(':')[0] in TEST_WITHOUT_LABELS
        usable = ('validation',) if unlabelled else ('test', 'validation')
        held_out = [name for name in usable if name in splits]
        return (held_out[0], True) if held_out else ('train', False)
    return 'train', bool({'test', 'validation'} & set(splits))


def read_labels(reader, label_of, cache_name, fingerprint):
    """The label of every example, read once and cached."""

    def read():
        labels = np.empty(len(reader), np.int32)
        for i in tqdm(range(len(reader)), desc=f'labels of {cache_name}', unit='example'):
            labels[i] = label_of(reader[i])
        return {'labels': labels}

    return cache.load_or_make(f'{cache_name}_labels', fingerprint, read)['labels']


def chosen_classes(dataset, classes, class_names):
    """The classes to keep as a list of numbers, or None for all."""
    if classes is None:
        return None
    half = len(class_names) // 2
    if classes in HALVES:
        classes = tuple(range(half) if classes == HALVES[0] else range(half, len(class_names)))
    elif classes in CLASS_LISTS:
        classes = CLASS_LISTS[classes].read_text().split()
    if not isinstance(classes, tuple | list) or not classes or len(set(classes)) < len(classes):
        raise BadInput(
            f'config.data.source has classes={classes!r}; it must be different classes as in '
            f'(0, 1, 2), or one of: {", ".join([*HALVES, *CLASS_LISTS])}.'
        )
    known = {name: number for number, name in enumerate(class_names)}
    chosen = []
    for name in classes:
        number = known.get(name, name)
        if not isinstance(number, int) or not 0 <= number < len(class_names):
            raise BadInput(
                f"config.data.source is 'tfds:{dataset}', which has no class {name!r}; it has "
                f'{len(class_names)} classes, {", ".join(class_names[:5])}, ...'
                + names.nearest(name, class_names)
            )
        chosen.append(number)
    return chosen


def kept_rows(positions, labels, chosen, labelled):
    """The positions of the chosen classes (None for all that have a label), and their labels."""
    if chosen is not None:
        numbers = {number: new for new, number in enumerate(chosen)}
        labels = np.array([numbers.get(label, -1) for label in labels.tolist()], np.int32)
    keep = labels >= 0 if labelled else np.ones(len(labels), bool)
    return positions[keep], labels[keep]


def _fingerprint(builder, split_info):
    """What identifies the prepared files: their metadata, and each file's size and time."""
    digest = hashlib.sha256((builder.data_path / 'dataset_info.json').read_bytes())
    for path in sorted(split_info.filepaths):
        stat = path.stat()
        digest.update(f'{path.name} {stat.length} {stat.mtime}'.encode())
    return digest.hexdigest()


def _how_to_prepare(dataset, data_dir, what_is_wrong):
    option = f' --data_dir={data_dir}' if data_dir else ''
    return (
        f"config.data.source is 'tfds:{dataset}', which is not prepared under "
        f'{data_dir or "the default directory of TFDS"} ({what_is_wrong}). Prepare it with: '
        f'pip install -e ".[prepare]" && tfds build {dataset} --file_format=array_record{option}'
    )


def _check_reachable(data_dir):
    """Raises BadInput unless `data_dir` exists; a remote one must answer within 15 seconds."""
    if '://' not in data_dir:
        if data_dir and not Path(data_dir).is_dir():
            raise BadInput(f'config.data.data_dir is {data_dir!r}, which is not a directory.')
        return
    from etils import epath

    answer = []

    def ask():
        try:
            answer.append(epath.Path(data_dir).exists() or 'there is no such directory')
        except Exception as error:  # whatever a file system raises, the user gets its words
            answer.append(f'{type(error).__name__}: {error}')

    # A daemon thread: a file system that never answers must not keep the process alive.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(REMOTE_TIMEOUT_SECONDS)
    problem = answer[0] if answer else f'no answer within {REMOTE_TIMEOUT_SECONDS} s'
    if problem is not True:
        raise BadInput(
            f'config.data.data_dir is {data_dir!r}, which cannot be read ({problem}). '
            'gs:// paths need: pip install -e ".[tpu]", and credentials.'
        )
