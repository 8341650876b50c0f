"""Writes a source or a probing dataset in TFDS form, for use elsewhere.

python -m experiments.export_dataset --source=digits --output=data/small_digits/1.0.0
python -m experiments.export_dataset --source=digits --probing=randbit,num_bits=4 \
    --split=train,test --count=500 --output=data/digits_with_bits/1.0.0

Each example holds `image` (the composed image, PNG, or float32 where it is a vector [1, 1, d];
appended constant channels are left out, since factors say them), every factor as an integer, `id`,
and `latents` where there are any. The result
is read by tfds.builder_from_directory('data/small_digits/1.0.0'), and here by
--config.data.source=tfds:small_digits --config.data.data_dir=data.
"""

import io
import json
import re
import shutil
import tempfile
from pathlib import Path

from absl import flags

from contrastive_jax import names
from contrastive_jax.errors import BadInput
from experiments import cli

SOURCE = flags.DEFINE_string('source', 'digits', "As config.data.source: 'noise:100,size=32'.")
DATA_DIR = flags.DEFINE_string('data_dir', '', 'Where TFDS has prepared its sets.')
PROBING = flags.DEFINE_string('probing', 'plain', "With options: 'randbit,num_bits=4'.")
SPLIT = flags.DEFINE_list('split', ['train'], 'train, test, or train,test.')
COUNT = flags.DEFINE_integer('count', 64, 'Examples of each split, spread evenly over it.')
SEED = flags.DEFINE_integer('seed', 0, 'Of the composition.')
OUTPUT = flags.DEFINE_string('output', None, 'A new directory NAME/1.0.0.', required=True)

BATCH = 256


def main():
    """Flags to one call."""
    export(
        source=SOURCE.value, data_dir=DATA_DIR.value, probing=PROBING.value, splits=SPLIT.value,
        count=COUNT.value, seed=SEED.value, output=OUTPUT.value,
    )  # fmt: skip
    print(f'written: {OUTPUT.value}')


def export(*, source, data_dir, probing, splits, count, seed, output):
    """Writes `count` examples of each split, spread evenly over it, under `output`.

    Raises:
      BadInput: an output that exists or is not NAME/VERSION, or data that cannot be had.
    """
    from ml_collections import ConfigDict  # --help answers at once

    from contrastive_jax.training import build

    output = Path(output).absolute()
    if not re.fullmatch(r'[a-z][a-z0-9_]*', output.parent.name) or not re.fullmatch(
        r'\d+\.\d+\.\d+', output.name
    ):
        raise BadInput(
            f'--output is {str(output)!r}; it must end in a name of small letters and a version, '
            "as in 'data/small_digits/1.0.0'."
        )
    if output.exists():
        raise BadInput(f'--output is {str(output)!r}, which exists; nothing is overwritten.')
    if count < 1:
        raise BadInput(f'--count is {count}; it must be at least 1.')
    if not splits or len(set(splits)) < len(splits):
        raise BadInput(f'--split is {",".join(splits)!r}, not one of: train, test, train,test.')
    name, options = names.parse_call(probing)
    make = build.bind_probing(
        ConfigDict(dict(source=source, data_dir=data_dir, probing=name, **options))
    )
    datasets = {split: make(split) for split in splits}
    for split, dataset in datasets.items():
        if count > len(dataset.source):
            raise BadInput(
                f'--count is {count}; the {split} split has {len(dataset.source)} examples.'
            )
    output.parent.mkdir(parents=True, exist_ok=True)
    # Written beside and renamed, so that a stop in the middle leaves no half of a data set.
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=f'.{output.name}-') as temporary:
        unfinished = Path(temporary) / output.name
        unfinished.mkdir()
        write(datasets, count, seed, unfinished, output.parent.name, f'{source} {probing} {seed}')
        shutil.move(unfinished, output)


def write(datasets, count, seed, directory, name, made_of):
    """The records of every split, and the two files that describe them."""
    from array_record.python.array_record_module import ArrayRecordWriter

    features, stored_splits = None, []
    for split, dataset in datasets.items():
        file_name = f'{name}-{split}.array_record-00000-of-00001'
        writer = ArrayRecordWriter(str(directory / file_name), 'group_size:1')
        written = num_bytes = 0
        for example in composed_examples(dataset, split, count, seed):
            features = features or features_of(dataset, example)
            if not is_vector(example['image']):
                example['image'] = as_png(example['image'])
            record = features.serialize_example(features.encode_example(example))
            num_bytes += len(record)
            writer.write(record)
            written += 1
        writer.close()
        stored_splits.append(
            {
                'name': split,
                'filepathTemplate': '{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}',
                'shardLengths': [str(written)],
                'numBytes': str(num_bytes),
            }
        )
    features.save_config(directory)
    factors = dict(next(iter(datasets.values())).factors)
    # By hand: TFDS's own writer of this file needs TensorFlow.
    info = {
        'name': name,
        'version': directory.name,
        'description': f'Made by experiments.export_dataset of: {made_of}. '
        f'Values of each factor: {factors}.',
        'fileFormat': 'array_record',
        'splits': stored_splits,
    }
    (directory / 'dataset_info.json').write_text(json.dumps(info, indent=2) + '\n')


def composed_examples(dataset, split, count, seed):
    """Examples spread evenly over a split, composed as in evaluation: dicts of NumPy values."""
    import jax
    import numpy as np

    from contrastive_jax.randomness import SPLIT_ROLES, key_for
    from contrastive_jax.training.step import compose

    kept = ('image', 'latents', *dataset.factors)
    split_key = key_for(seed, SPLIT_ROLES[split])

    @jax.jit
    def composed(rows, tables):
        examples = compose(dataset, rows, tables, split_key)
        return {name: examples[name] for name in kept if name in examples}

    # Not the first ones: many sets lie class after class.
    ids = np.arange(count) * len(dataset.source) // count
    for start in range(0, count, BATCH):
        batch = dataset.source.take(ids[start : start + BATCH])
        columns = jax.device_get(composed(batch, dataset.tables)) | {'id': batch['id']}
        if not is_vector(columns['image'][0]):
            columns['image'] = np.uint8(np.rint(np.clip(columns['image'], 0, 1) * np.float32(255)))
        # A damaged image is left out, not written as the one that a source puts in its place.
        for row in np.flatnonzero(batch['id'] == ids[start : start + BATCH]):
            yield {name: column[row] for name, column in columns.items()}


def is_vector(image):
    """Whether an image is a vector [1, 1, d]: then it is written as it is, not as a picture."""
    return image.shape[:2] == (1, 1)


def features_of(dataset, example):
    """The TFDS features of a composed example."""
    import numpy as np
    import tensorflow_datasets as tfds

    shape = example['image'].shape
    features = {name: tfds.features.Scalar(np.int64) for name in ('id', *dataset.factors)}
    if is_vector(example['image']):
        features['image'] = tfds.features.Tensor(shape=shape, dtype=np.float32)
    elif shape[-1] in (1, 3, 4):
        features['image'] = tfds.features.Image(shape=shape, encoding_format='png')
    else:
        raise BadInput(f'--source has images of {shape}; PNG holds 1, 3 or 4 channels.')
    if dataset.factors.get('label'):
        features['label'] = tfds.features.ClassLabel(num_classes=dataset.factors['label'])
    if 'latents' in example:
        features['latents'] = tfds.features.Tensor(shape=example['latents'].shape, dtype=np.float32)
    return tfds.features.FeaturesDict(features)


def as_png(image):
    """A file object of a uint8 image [h, w, c]."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image).save(
        file, 'PNG', optimize=True
    )
    file.seek(0)
    return file


if __name__ == '__main__':
    cli.run(main)
