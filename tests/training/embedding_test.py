"""Embeddings of a run: each example once, whatever the batch, by whatever encoder."""

import jax
import numpy as np
import pytest

from contrastive_jax import models, sharding
from contrastive_jax.errors import BadInput, Preempted
from contrastive_jax.models.torchvision_weights import to_torchvision, write_weights
from contrastive_jax.training import embedding, loop, panels, preemption
from contrastive_jax.training.build import build
from contrastive_jax.training.embedding import (
    embed_split,
    embed_views,
    embeddings_of_run,
    normalized,
    weights_from_file,
)
from contrastive_jax.training.evaluate import Evaluator

LIMIT = 30


@pytest.fixture
def experiment(config):
    return build(config, sharding.data_mesh(2))


@pytest.fixture
def state(experiment):
    return jax.jit(experiment.init_state)(experiment.seed_key)


def test_a_few_examples_are_those_of_the_whole_split(experiment, state):
    with jax.set_mesh(experiment.mesh):
        whole = Evaluator(experiment).embed(state.variables, 'test')
        few = embed_split(experiment, state.variables, 'test', limit=LIMIT)
    assert len(few['ids']) == LIMIT == len(set(few['ids'].tolist()))
    for name in ('embeddings', 'projections', 'factor_code', 'labels'):
        np.testing.assert_allclose(few[name], whole[name][few['ids']], atol=1e-6)


def test_views_are_of_the_example_and_not_of_its_batch(experiment, state, monkeypatch):
    with jax.set_mesh(experiment.mesh):
        found = embed_views(experiment, state.variables, 'train', limit=LIMIT)
        inner = embedding.embed
        monkeypatch.setattr(
            embedding, 'embed', lambda *args, **options: inner(*args, **options, batch_size=8)
        )
        again = embed_views(experiment, state.variables, 'train', limit=LIMIT)
    for name in 'hz':
        first, second = found[name]
        assert first.shape == second.shape
        assert np.any(first != second, axis=1).all()  # two draws of the crop
        for one, other in zip(found[name], again[name], strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.slow
def test_encoders_in_place_of_that_of_the_run(config, tmp_path, monkeypatch):
    config.num_steps = 2
    config.model = dict(
        name='resnet', depth=18, width=1 / 16, stem='cifar', variant='torchvision', dimensions=4
    )
    loop.train(config, tmp_path / 'run', quiet=True)
    run = tmp_path / 'run'

    def rows(**options):
        return embeddings_of_run(run, 'test', limit=LIMIT, **options)

    own = rows()
    assert own.z.shape == (LIMIT, 4)
    assert set(own.factors) == {'label', 'code'}
    assert rows(layer='block_group_4').h == pytest.approx(own.h, abs=1e-6)
    assert np.abs(rows(encoder='untrained').h - own.h).max() > 1e-3
    pixels = rows(encoder='pixels')
    assert pixels.h.shape == (LIMIT, 28 * 28 * 4)
    assert pixels.z is None
    experiment, state = embedding.restored_run(run)
    write_weights(tmp_path / 'own.safetensors', to_torchvision(state.variables))
    again = rows(encoder=str(tmp_path / 'own.safetensors'), normalize='none')
    np.testing.assert_array_equal(again.h, own.h)
    assert again.z is None
    (tmp_path / 'my_encoders.py').write_text(
        'def means(images):\n    return images.mean(axis=(1, 2))\n'
        'def too_few(images):\n    return images[:1, 0, 0]\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    images = pixels.h.reshape(LIMIT, 28, 28, 4)
    np.testing.assert_allclose(rows(encoder='my_encoders:means').h, images.mean(axis=(1, 2)))
    with pytest.raises(BadInput, match='made 1 rows of'):
        rows(encoder='my_encoders:too_few')
    with pytest.raises(BadInput, match="no layer 'conv9', but: "):
        rows(layer='conv9')
    for encoder in ('pixels', 'my_encoders:means'):
        with pytest.raises(BadInput, match=f"'conv1', but the encoder '{encoder}' has no layers"):
            rows(encoder=encoder, layer='conv1')
    with pytest.raises(BadInput, match='choose: none'):
        rows(encoder=str(tmp_path / 'own.safetensors'))


def test_weights_of_a_file_need_a_residual_network_and_images_that_fit(experiment, state):
    with pytest.raises(BadInput, match="variant='torchvision', and this one is a ConvNet"):
        weights_from_file(experiment.model, state.variables, 'r18.safetensors')
    simclr = models.resnet(depth=18, width=1 / 16, stem='cifar')
    with pytest.raises(BadInput, match="is a ResNet with variant='simclr'"):
        weights_from_file(simclr, {}, 'r18.safetensors')
    # The digits have one channel, whatever stands behind it.
    with pytest.raises(BadInput, match="'imagenet', of 3 channels, but .* have 1; choose: none"):
        normalized(experiment.resting_view, 'imagenet')(np.zeros((28, 28, 1), np.float32))
    with pytest.raises(BadInput, match="normalize is 'mnist', not one of: imagenet, none"):
        normalized(experiment.resting_view, 'mnist')
    middle = np.full((2, 2, 3), 0.5, np.float32)
    expected = (middle - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    np.testing.assert_allclose(normalized(lambda image: image, 'imagenet')(middle), expected, 1e-6)


def test_a_split_is_compiled_once_for_all_evaluations(experiment, state):
    traces = []

    def counted(split, step):
        def embed_step(*arguments):
            traces.append(split)
            return step(*arguments)

        return embed_step

    steps = {split: counted(split, step) for split, step in experiment.embed_steps.items()}
    evaluator = Evaluator(experiment._replace(embed_steps=steps))
    with jax.set_mesh(experiment.mesh):
        for scale in (1.0, 2.0):
            variables = jax.tree.map(lambda leaf: np.float32(scale) * leaf, state.variables)  # noqa: B023
            for split in ('train', 'test'):
                evaluator.embed(variables, split)
    assert traces == ['train', 'test']


def test_an_evaluation_is_left_between_two_batches(experiment, state):
    preempted = preemption.Preemption()
    preempted.requested = True
    with jax.set_mesh(experiment.mesh), pytest.raises(Preempted):
        Evaluator(experiment, preempted).embed(state.variables, 'test')


@pytest.mark.slow
def test_the_material_of_a_run(config, tmp_path):
    config.num_steps = 2
    loop.train(config, tmp_path, quiet=True)
    found = panels.material_of_run(tmp_path, limit=LIMIT, baselines=('untrained', 'pixels'))
    for rows in (found.train, found.test):
        assert list(rows) == ['h', 'z', 'untrained', 'pixels']
        assert {len(of) for of in rows.values()} == {LIMIT}
    assert list(found.test_views) == ['h', 'z']
    assert set(found.test_factors) == {'label', 'code'}
    assert 'after step 2: 30 train and 30 test examples' in found.about[0]
    with pytest.raises(BadInput, match="baselines has 'random', not one of: untrained, pixels"):
        panels.material_of_run(tmp_path, baselines=('random',))
