"""The exported form is what TFDS reads, holds what was composed, and overwrites nothing."""

import io
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
import tensorflow_datasets as tfds
from PIL import Image

from contrastive_jax.data import probing, sources
from contrastive_jax.errors import BadInput
from contrastive_jax.randomness import SPLIT_ROLES, key_for
from contrastive_jax.training import step
from experiments import export_dataset

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv('CONTRASTIVE_JAX_CACHE', str(tmp_path / 'cache'))


def export(output, **changes):
    options = dict(
        source='noise:20,size=6', data_dir='', probing='randbit,num_bits=5',
        splits=['train', 'test'], count=10, seed=3, output=output,
    )  # fmt: skip
    export_dataset.export(**(options | changes))


def test_both_splits_of_a_probing_dataset_come_back(tmp_path):
    output = tmp_path / 'bits' / '1.0.0'
    export(output)
    builder = tfds.builder_from_directory(output)
    assert set(builder.info.splits) == {'train', 'test'}
    for split in sources.SPLITS:
        dataset = probing.randbit(sources.open_source('noise:20,size=6', split), num_bits=5)
        rows = dataset.source.take(np.arange(0, 20, 2))
        composed = step.compose(dataset, rows, {}, key_for(3, SPLIT_ROLES[split]))
        reader = builder.as_data_source(split)
        assert len(reader) == 10
        for i in range(10):
            np.testing.assert_array_equal(reader[i]['image'], rows['image'][i])
            assert reader[i]['code'] == composed['code'][i]
            assert reader[i]['id'] == 2 * i
    ours = sources.open_source('tfds:bits', 'test', str(tmp_path))
    np.testing.assert_array_equal(ours.images, rows['image'])
    assert [path.name for path in output.parent.iterdir()] == ['1.0.0']  # nothing half made


def test_latents_and_whole_sets_are_written(tmp_path, monkeypatch):
    source = sources.open_source('noise:5,size=4,channels=1', 'train')

    def compose(draws, example, tables):
        del tables
        latents = jax.random.normal(draws.example, (3,))
        image = example['image'].astype(np.float32) / np.float32(255)
        return {'image': image, 'latents': latents, 'side': draws.index}

    dataset = probing.dataset.ProbingDataset(source, {'side': 2}, compose)
    monkeypatch.setattr('contrastive_jax.training.build.bind_probing', lambda _: lambda _: dataset)
    export(tmp_path / 'drawn' / '1.0.0', probing='plain', splits=['train'], count=5)
    reader = tfds.builder_from_directory(tmp_path / 'drawn' / '1.0.0').as_data_source('train')
    latents = np.stack([reader[i]['latents'] for i in range(5)])
    assert latents.shape == (5, 3)
    assert len(np.unique(latents)) == 15
    np.testing.assert_array_equal(reader[4]['image'], source.images[4])


@pytest.mark.filterwarnings('ignore:encoded')
def test_a_damaged_image_is_left_out_and_none_is_written_twice(tmp_path, monkeypatch):
    file = io.BytesIO()
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(file, 'JPEG')
    data = file.getvalue()
    source = sources.EncodedSource(
        lambda at: (str(at), data[:100] if at == 2 else data), np.arange(6) % 2, 2, (8, 8, 3)
    )
    dataset = probing.plain(source)
    monkeypatch.setattr('contrastive_jax.training.build.bind_probing', lambda _: lambda _: dataset)
    export(tmp_path / 'whole' / '1.0.0', probing='plain', splits=['train'], count=6)
    reader = tfds.builder_from_directory(tmp_path / 'whole' / '1.0.0').as_data_source('train')
    assert [reader[i]['id'] for i in range(len(reader))] == [0, 1, 3, 4, 5]


def test_vectors_are_written_as_they_are(tmp_path):
    output = tmp_path / 'spirals' / '1.0.0'
    export(output, source='synthetic:20', probing='spirals,noise=0.4', count=20)
    reader = tfds.builder_from_directory(output).as_data_source('train')
    examples = [reader[i] for i in range(20)]
    assert min(e['image'].min() for e in examples) < 0  # a picture would end at 0
    for example in examples:  # as evaluation sees them, without noise
        np.testing.assert_array_equal(example['image'].reshape(2), example['latents'])
    assert {int(e['arm']) for e in examples} == {0, 1}


@pytest.mark.parametrize(
    ('changes', 'sentence'),
    [
        ({'output': 'Bits/1.0.0'}, 'a name of small letters and a version'),
        ({'output': 'bits'}, 'a name of small letters and a version'),
        ({'count': 21}, '20 examples'),
        ({'count': 0}, 'at least 1'),
        ({'splits': ['train', 'train']}, '--split'),
        ({'splits': ['validation']}, 'split is'),
        ({'source': 'noise:20,channels=2'}, '1, 3 or 4 channels'),
    ],
)
def test_bad_input_is_refused_and_leaves_nothing(tmp_path, changes, sentence):
    output = tmp_path / changes.pop('output', 'bits/1.0.0')
    with pytest.raises(BadInput, match=sentence):
        export(output, **changes)
    assert not list(tmp_path.rglob('*.array_record*'))


def test_nothing_is_overwritten(tmp_path):
    output = tmp_path / 'bits' / '1.0.0'
    output.mkdir(parents=True)
    with pytest.raises(BadInput, match='nothing is overwritten'):
        export(output)


def test_the_command_shows_its_help():
    done = subprocess.run(
        [sys.executable, '-m', 'experiments.export_dataset', '--help'],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0
    assert '--probing' in done.stdout
