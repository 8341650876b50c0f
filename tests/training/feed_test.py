"""Runs on encoded images: crops made on the host, damaged files, classes without decoding."""

import io
import types
import warnings

import jax
import numpy as np
import pytest
from ml_collections import ConfigDict
from PIL import Image

from contrastive_jax.data import batches
from contrastive_jax.data.sources import arrays, encoded
from contrastive_jax.errors import BadInput
from contrastive_jax.randomness import Role, key_for
from contrastive_jax.training import metrics_log, step
from contrastive_jax.training.build import build
from contrastive_jax.training.checkpoints import Checkpoints
from contrastive_jax.training.embedding import embed_views
from contrastive_jax.training.evaluate import Evaluator
from contrastive_jax.training.feed import CroppedOnHost
from contrastive_jax.training.loop import train
from contrastive_jax.training.state import state_shapes


@pytest.fixture
def photos(config, tmp_path, monkeypatch):
    """A config of JPEGs too many for memory: 16 to train on, one of them cut short, 8 to test."""
    monkeypatch.setenv('CONTRASTIVE_JAX_CACHE', str(tmp_path / 'cache'))
    monkeypatch.setattr(arrays, 'SMALL_BYTES', 100)
    generator = np.random.default_rng(0)
    for split, count in (('train', 16), ('test', 8)):
        for i in range(count):
            path = tmp_path / 'photos' / split / 'ab'[i % 2] / f'{i:02}.jpg'
            path.parent.mkdir(parents=True, exist_ok=True)
            file = io.BytesIO()
            Image.fromarray(generator.integers(0, 256, (40, 60, 3), np.uint8)).save(file, 'JPEG')
            data = file.getvalue()
            path.write_bytes(data[: len(data) // 2] if (split, i) == ('train', 4) else data)
    config.num_steps, config.batch_size, config.checkpoint_every = 2, 8, 1
    config.data = ConfigDict(
        dict(source='folder:photos,size=24', data_dir=str(tmp_path), probing='randbit', num_bits=2)
    )
    config.views = ConfigDict(dict(name='crop_and_flip', law='host', area_range=(0.3, 1.0)))
    config.evaluation = ConfigDict(dict(name='knn', k=1))
    return config


def final_state(path, config):
    checkpoints = Checkpoints(path)
    state = checkpoints.restore(state_shapes(build(config)))
    checkpoints.close()
    return state


@pytest.mark.slow
@pytest.mark.filterwarnings('ignore:photos')
def test_a_run_on_crops_of_the_host_trains_and_continues_to_the_same_parameters(
    tmp_path, photos, monkeypatch
):
    final = train(photos, tmp_path / 'whole')
    losses = [row['loss'] for row in metrics_log.read(tmp_path / 'whole') if 'loss' in row]
    assert len(losses) == 2
    assert np.isfinite(losses).all()
    assert 0 <= final['test_accuracy'] <= 1

    iterate = batches.iterate

    def interrupted(order, start):
        yield next(iterate(order, start))
        raise KeyboardInterrupt

    monkeypatch.setattr(batches, 'iterate', interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(photos, tmp_path / 'parts')
    monkeypatch.setattr(batches, 'iterate', iterate)
    train(photos, tmp_path / 'parts')
    states = [final_state(tmp_path / name, photos) for name in ('whole', 'parts')]
    assert int(states[1].step) == 2
    jax.tree.map(np.testing.assert_array_equal, *states)


def test_the_damaged_image_is_reported_once_and_embedded_never(photos):
    experiment = build(photos)
    source = experiment.train.source
    variables = experiment.init_state(experiment.seed_key).variables
    evaluator = Evaluator(experiment)
    with pytest.warns(UserWarning, match='damaged and skipped'):
        found = evaluator.embed(variables, 'train')
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        for k in range(4):  # two epochs
            experiment.train_orders()[''][k]
    (name,) = source.damaged.seen
    damaged = [at for at in range(len(source)) if source.read(at)[0] == name]
    np.testing.assert_array_equal(found['ids'], np.delete(np.arange(16), damaged))
    np.testing.assert_array_equal(found['labels'], source.labels[found['ids']])


@pytest.mark.filterwarnings('ignore:photos')
def test_the_two_crops_of_a_pair_share_their_bits(photos):
    photos.views.flip_probability = 0.0
    experiment = build(photos)
    batch = experiment.train_orders()[''][0]
    sides = step.compose_pairs(experiment.train, batch, {}, experiment.seed_key, 0)
    np.testing.assert_array_equal(sides[0]['code'], sides[1]['code'])
    assert len(set(np.asarray(sides[0]['code']).tolist())) > 1
    for side, prefix in zip(sides, ('', 'partner_'), strict=True):
        pixels = np.rint(255 * np.asarray(side['image']))
        np.testing.assert_array_equal(pixels, batch[f'{prefix}image'])


@pytest.mark.slow
@pytest.mark.filterwarnings('ignore:photos')
@pytest.mark.parametrize('pairing', [(), ('label',)])
def test_negatives_are_cropped_on_the_host_as_the_others_are(
    tmp_path, photos, pairing, monkeypatch
):
    photos.data.negatives = 'folder:photos,size=24'
    photos.data.pairing = pairing
    photos.num_steps = 1
    assert 'test_accuracy' in train(photos, tmp_path / 'run')
    monkeypatch.setattr(arrays, 'SMALL_BYTES', 20_000)  # for 8 images, not for 16
    photos.data.negatives = 'noise:8,size=24'
    with pytest.raises(BadInput, match='crops encoded images, but noise'):
        build(photos)


@pytest.mark.filterwarnings('ignore:photos')
def test_ranges_are_those_of_the_config_or_the_view(photos):
    photos.views.area_range = (1.0, 1.0)
    photos.views.aspect_range = (1.5, 1.5)  # with these, a crop is the whole image
    batch = build(photos).train_orders()[''][0]
    np.testing.assert_array_equal(batch['image'], batch['partner_image'])
    del photos.views.area_range
    batch = build(photos).train_orders()[''][0]
    assert (batch['image'] != batch['partner_image']).any((1, 2, 3)).all()


@pytest.mark.filterwarnings('ignore:photos')
def test_views_outside_training_are_crops_of_the_host(photos, monkeypatch):
    experiment = build(photos)
    variables = experiment.init_state(experiment.seed_key).variables
    seen = {}

    def recording(model):
        def apply(variables, images, train):
            jax.debug.callback(lambda images: seen.setdefault('images', images), images)
            return model.apply(variables, images, train=train)

        return types.SimpleNamespace(apply=apply)

    recorded = experiment._replace(model=recording(experiment.model))
    with jax.set_mesh(experiment.mesh):
        found = embed_views(recorded, variables, 'train')
        again = embed_views(experiment, variables, 'train', limit=8)
    first, second = found['h']
    assert first.shape == second.shape == (15, 8)  # the damaged image is left out
    assert np.any(first != second, axis=1).all()
    assert len(again['h'][0]) in (7, 8)
    # Each of the few drawn has the crops that it has among all.
    nearest = np.abs(again['h'][0][:, None] - first).max(-1).min(1)
    np.testing.assert_allclose(nearest, 0, atol=1e-6)
    evaluator = Evaluator(experiment)
    with jax.set_mesh(experiment.mesh):
        passes = evaluator.embed_train(variables, passes=2)
        rest = evaluator.embed_train(variables)
    np.testing.assert_array_equal(passes['ids'], rest['ids'])
    rows = [*passes['embeddings'], rest['embeddings'], first]
    for k, one in enumerate(rows):
        assert all(np.any(one != other, axis=1).all() for other in rows[:k])
    # Whole images shrunk to one size are another law: the two sides would agree in every pixel.
    images = seen['images']
    assert np.any(images[::2, ..., :3] != images[1::2, ..., :3], axis=(1, 2, 3)).all()
    np.testing.assert_array_equal(images[::2, 0, 0, 3:], images[1::2, 0, 0, 3:])  # one code


def test_a_split_held_decoded_is_cropped_from_what_is_held():
    images = np.random.default_rng(0).integers(0, 256, (3, 20, 24, 1), np.uint8)
    source = arrays.ArraySource(images, np.arange(3), 3, 'held')
    whole = dict(area_range=(1.0, 1.0), aspect_range=(1.0, 1.0))
    rows = CroppedOnHost(source, whole, (0, 1), 2).take(np.array([2, 0]))
    for prefix in ('', 'partner_'):
        np.testing.assert_array_equal(rows[f'{prefix}image'], images[[2, 0]])
        np.testing.assert_array_equal(rows[f'{prefix}id'], [2, 0])
    part = dict(area_range=(0.2, 0.5), aspect_range=(0.75, 1.3))
    (first, second), alone = (
        [CroppedOnHost(source, part, (0, 1), 1).take(np.array(ids))['image'] for ids in lists]
        for lists in (([0, 1], [1, 0]), ([1],))
    )
    np.testing.assert_array_equal(first, second[::-1])  # whatever the batch
    np.testing.assert_array_equal(alone[0][0], first[1])
    other = CroppedOnHost(source, part, (0, 2), 1).take(np.array([0, 1]))['image']
    assert (other != first).any((1, 2, 3)).all()
    # Each example has a crop of its own, also where two images are one.
    twice = arrays.ArraySource(images[[0, 0]], np.arange(2), 2, 'twice')
    one, two = CroppedOnHost(twice, part, (0, 1), 1).take(np.array([0, 1]))['image']
    assert np.any(one != two)


def never(*arguments):
    raise AssertionError('an image was decoded')


@pytest.mark.parametrize('pairing', [('label',), ('code', 'label')])
def test_classes_of_labels_and_codes_are_known_without_decoding(photos, monkeypatch, pairing):
    monkeypatch.setattr(encoded, 'decode', never)
    photos.data.pairing = pairing
    experiment = build(photos)
    classes = Evaluator(experiment).classes()
    rows = dict(image=np.zeros((16, 24, 24, 3), np.uint8), id=np.arange(16, dtype=np.int32))
    rows['label'] = experiment.train.source.labels
    composed = step.compose(
        experiment.train, rows, {}, key_for(experiment.seed_key, Role.TRAIN_EXAMPLES)
    )
    keys = np.stack([np.asarray(composed[name]) for name in pairing], axis=1)
    alike = (keys[:, None] == keys).all(-1)
    np.testing.assert_array_equal(classes[:, None] == classes, alike)


@pytest.mark.filterwarnings('ignore:photos')
def test_classes_made_of_pixels_leave_the_damaged_image_alone(photos):
    photos.views = ConfigDict(dict(name='crop_only'))
    photos.data.code, photos.data.pairing = 'hashed', ('code',)
    experiment = build(photos)
    evaluator = Evaluator(experiment)
    classes = evaluator.classes()
    found = evaluator.embed(experiment.init_state(experiment.seed_key).variables, 'train')
    codes = np.full(16, -1)
    codes[found['ids']] = found['factor_code']
    assert (codes == -1).sum() == 1
    np.testing.assert_array_equal(classes[:, None] == classes, codes[:, None] == codes)


@pytest.mark.filterwarnings('ignore:photos')
def test_a_pair_of_one_class_is_one_crop_of_each(tmp_path, photos):
    photos.data.pairing = ('label',)
    photos.num_steps = 1
    assert 'test_accuracy' in train(photos, tmp_path / 'run')


def test_crops_on_the_host_need_encoded_images(config):
    config.views = ConfigDict(dict(name='simclr_imagenet', law='host'))
    with pytest.raises(BadInput, match=r"views.law is 'host'.*digits/train.*tfds:imagenet2012"):
        build(config)


def test_crops_on_the_host_need_factors_that_they_share(photos):
    photos.data.code = 'hashed'
    with pytest.raises(BadInput, match='makes channels and code of the pixels'):
        build(photos)


def test_crops_on_the_host_have_the_size_of_the_source(photos):
    photos.views.size = 16
    with pytest.raises(BadInput, match="law is 'host' with size 16"):
        build(photos)
