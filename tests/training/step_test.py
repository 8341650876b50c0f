"""The train step: devices, pairs, views and what it leaves alone."""

import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ml_collections import ConfigDict

from contrastive_jax import losses, models, sharding, views
from contrastive_jax.data import batches, probing, sources
from contrastive_jax.data.probing.dataset import ProbingDataset
from contrastive_jax.errors import BadInput
from contrastive_jax.randomness import Role, key_for
from contrastive_jax.training import optimizers, state, step
from contrastive_jax.training.build import build
from contrastive_jax.training.embed_step import make_embed_step
from contrastive_jax.training.evaluate import Evaluator
from contrastive_jax.training.loop import train
from contrastive_jax.training.shapes import batch_shapes


def run(config, devices, steps=10):
    experiment = build(config, sharding.data_mesh(devices))
    order = batches.train_batches(
        experiment.train.source, seed=config.seed, batch_size=config.batch_size
    )
    train_step = step.jit_train_step(experiment)
    train_state, rows = experiment.init_state(experiment.seed_key), []
    with jax.set_mesh(experiment.mesh):
        for k in range(steps):
            batch = sharding.to_devices(order[k], experiment.mesh)
            train_state, metrics = train_step(train_state, batch, {}, experiment.seed_key)
            rows.append({name: float(value) for name, value in metrics.items()})
    return train_state, rows


def test_four_devices_train_as_one(config):
    config.batch_size = 32
    (_, one), (_, four) = run(config, 1), run(config, 4)
    for row_of_one, row_of_four in zip(one, four, strict=True):
        assert row_of_four['loss'] == pytest.approx(row_of_one['loss'], rel=1e-4)
        assert row_of_four['gradient_norm'] == pytest.approx(row_of_one['gradient_norm'], rel=1e-3)


def test_the_lowered_step_gathers_negatives_across_devices(config):
    experiment = build(config)
    with jax.set_mesh(experiment.mesh):
        lowered = step.jit_train_step(experiment).lower(
            jax.eval_shape(experiment.init_state, experiment.seed_key),
            batch_shapes(experiment.train, config.batch_size),
            {},
            experiment.seed_key,
        )
    text = lowered.compile().as_text()
    # The projections of every device reach every other: [2n, d] gathered from [2n / 4, d].
    gathered = [line for line in text.splitlines() if ' all-gather' in line]
    assert any('f32[32,4]' in line for line in gathered), 'no cross-replica negatives'
    # Images stay where they are: no collective carries anything of the size of the images.
    for line in text.splitlines():
        if ' all-' in line or ' collective-' in line:
            assert '28,28' not in line.split('=')[1].split('(')[0], line


class Recorder:
    """A model that hands its input to the loss: z is the image, flattened."""

    def init(self, key, images, train):
        del key, images, train
        return {'params': {'unused': jnp.zeros(1)}}

    def apply(self, variables, images, train, mutable=()):
        del train
        flat = images.reshape(len(images), -1) + 0.0 * variables['params']['unused'][0]
        return ((flat, flat), {}) if mutable else (flat, flat)


def recorded(dataset, view, count=8, step_number=0, negatives=None):
    """What the loss sees as z1 and z2, and as negatives where there are any."""

    def loss(z1, z2, key, **others):
        del key
        return jnp.sum(z1[:, :1]), {'z1': z1, 'z2': z2, **others}

    optimizer = optimizers.adam(learning_rate=0.1, num_steps=10)
    train_step = step.make_train_step(
        dataset=dataset,
        view=view,
        model=Recorder(),
        loss=loss,
        optimizer=optimizer,
        negatives=negatives,
    )
    train_state = state.init_state(Recorder(), optimizer, (28, 28, 4), 0)
    train_state = train_state._replace(step=jnp.int32(step_number))
    batch, tables = dataset.source.take(np.arange(count)), dict(dataset.tables)
    if negatives:
        others = negatives.source.take(np.arange(count))
        batch |= {f'negative_{name}': rows for name, rows in others.items()}
        tables['negatives'] = dict(negatives.tables)
    _, metrics = jax.jit(train_step)(train_state, batch, tables, jax.random.key(0))
    seen = [metrics[name] for name in ('z1', 'z2', 'negatives') if name in metrics]
    return [np.asarray(rows).reshape(len(rows), 28, 28, -1) for rows in seen]


@pytest.fixture(scope='module')
def dataset():
    return probing.randbit(sources.open_source('digits', 'train'), num_bits=3)


def crop(key, image):
    return views.crop_only(key, image, area_range=(0.5, 1.0), method='linear')


def test_row_i_of_both_views_is_of_example_i(dataset):
    z1, z2 = recorded(dataset, views.none)
    expected = dataset.source.images[:8] / 255.0
    np.testing.assert_allclose(z1[..., :1], expected, atol=1e-6)
    np.testing.assert_array_equal(z1, z2)


def test_views_differ_but_bits_pass_untouched(dataset):
    z1, z2 = recorded(dataset, crop)
    assert not np.allclose(z1[..., :1], z2[..., :1], atol=0.05)
    bits = z1[..., 1:]
    np.testing.assert_array_equal(bits, z2[..., 1:])
    np.testing.assert_array_equal(bits, np.broadcast_to(bits[:, :1, :1], bits.shape))
    assert set(np.unique(bits)) == {0.0, 1.0}


def test_each_step_draws_other_views_of_the_same_bits(dataset):
    first, second = recorded(dataset, crop, step_number=0), recorded(dataset, crop, step_number=1)
    assert not np.allclose(first[0][..., :1], second[0][..., :1], atol=0.05)
    np.testing.assert_array_equal(first[0][..., 1:], second[0][..., 1:])


def test_negatives_are_both_views_of_all_examples_but_one_of_another_source(dataset):
    noise = sources.open_source('noise:50,size=28,channels=1', 'train')
    others = probing.randbit(noise, num_bits=3)
    z1, z2, negatives = recorded(dataset, views.none, negatives=others)
    np.testing.assert_allclose(z1[..., :1], dataset.source.images[:8] / 255.0, atol=1e-6)
    np.testing.assert_array_equal(z1, z2)
    expected = noise.take(np.arange(7))['image'] / np.float32(255)
    np.testing.assert_allclose(negatives[::2, ..., :1], expected, atol=1e-6)
    np.testing.assert_array_equal(negatives[::2], negatives[1::2])
    first, second, negatives = recorded(dataset, crop, negatives=others)
    alone = recorded(dataset, crop)
    np.testing.assert_array_equal([first, second], alone)  # as without negatives
    assert not np.allclose(negatives[::2, ..., 0], negatives[1::2, ..., 0], atol=0.1)


@pytest.mark.slow
def test_negatives_from_another_source_train_on_four_devices_as_on_one(tmp_path, config):
    config.data.negatives = 'noise:100,size=28,channels=1'
    config.num_steps = 3
    four = train(config, tmp_path / 'four')
    experiment = build(config, sharding.data_mesh(1))
    orders = experiment.train_orders()
    with jax.set_mesh(experiment.mesh):
        train_state, train_step = (
            experiment.init_state(experiment.seed_key),
            step.jit_train_step(experiment),
        )
        for batch in itertools.islice(batches.iterate(orders, 0), 3):
            assert batch['negative_image'].shape == batch['image'].shape
            train_state, metrics = train_step(
                train_state, batch, experiment.train_tables, experiment.seed_key
            )
    rows = [json.loads(line) for line in (tmp_path / 'four/metrics.jsonl').open()]
    losses_of_four = [row['loss'] for row in rows if 'loss' in row]
    assert float(metrics['loss']) == pytest.approx(losses_of_four[-1], rel=1e-4)
    # Before anything is learned, every one of 2n - 1 candidates is as likely.
    assert abs(losses_of_four[0] - np.log(2 * config.batch_size - 1)) < 1.5
    assert 'test_accuracy' in four


def test_negatives_of_the_same_source_are_other_batches(config):
    config.data.negatives = 'digits'
    orders = build(config).train_orders()
    own, others = (orders[prefix][0]['id'] for prefix in ('', 'negative_'))
    assert not np.array_equal(own, others)


@pytest.mark.parametrize(
    ('source', 'loss', 'sentence'),
    [
        (
            'noise:100,size=28,channels=1',
            'cross_view_info_nce',
            'takes no negatives.*does: nt_xent',
        ),
        ('noise:100,size=20', 'nt_xent', 'the training images have'),
        ('noise:10,size=28,channels=1', 'nt_xent', 'has 10 examples'),
        ('nois:10', 'nt_xent', "Did you mean 'noise'"),
    ],
)
def test_negatives_that_cannot_be_used_are_refused(config, source, loss, sentence):
    config.data.negatives = source
    config.loss = ConfigDict(dict(name=loss, temperature=0.2))
    with pytest.raises(BadInput, match=sentence):
        build(config)


def sided(source):
    """Images that tell which key and side composed them."""

    def compose(draws, example, tables):
        del tables
        numbers = [jax.random.uniform(key) for key in draws[:3]]
        values = [*numbers, draws.index.astype(jnp.float32), example['id'].astype(jnp.float32)]
        return {'image': jnp.stack(values).reshape(1, 1, 5), 'channels': jnp.zeros(0)}

    return ProbingDataset(source, {}, compose, sides_differ=True)


def composed_sides(batch, step_number=0):
    dataset = sided(sources.open_source('digits', 'train'))
    sides = step.compose_pairs(dataset, batch, {}, jax.random.key(0), step_number)
    return [np.asarray(side['image']).reshape(-1, 5).T for side in sides]


def test_sides_share_the_keys_of_example_and_visit_only(dataset):
    batch = dataset.source.take(np.arange(8))
    first, second = composed_sides(batch)
    np.testing.assert_array_equal(first[:2], second[:2])
    assert not np.any(first[2] == second[2])
    assert set(first[3]) == {0.0}
    assert set(second[3]) == {1.0}
    later = composed_sides(batch, step_number=1)[0]
    np.testing.assert_array_equal(first[0], later[0])
    assert not np.any(first[1:3] == later[1:3])
    assert len(np.unique(first[:3])) == 24


def test_a_partner_is_composed_with_its_own_key(dataset):
    batch, partner = (dataset.source.take(np.arange(4) + start) for start in (0, 100))
    pairs = batch | {f'partner_{name}': value for name, value in partner.items()}
    _, second = composed_sides(pairs)
    expected, _ = composed_sides(partner)
    np.testing.assert_array_equal(second[0], expected[0])
    np.testing.assert_array_equal(second[4], np.arange(4) + 100)


def test_pairs_of_one_class_are_trained_on(tmp_path, config):
    config.data.pairing = ('label',)
    experiment = build(config)
    classes = Evaluator(experiment).classes()
    np.testing.assert_array_equal(classes, experiment.train.source.labels)
    assert 'test_accuracy' in train(config, tmp_path)
    config.data.pairing = ('colour',)
    with pytest.raises(BadInput, match="data.pairing is 'colour'; the factors"):
        build(config)


@pytest.mark.slow
def test_tables_and_backgrounds_of_each_side_reach_training_and_evaluation(tmp_path, config):
    config.data = ConfigDict(
        dict(
            source='digits', data_dir='', probing='cdp', backgrounds='noise:50', pairing=('colour',)
        )
    )
    config.evaluation.factor = 'colour'
    final = train(config, tmp_path)
    assert final['colour_bits'] == pytest.approx(2, abs=0.01)
    # Even a nearly untrained network lets a probe read the colour better than chance, 0.25.
    assert final['test_accuracy'] > 0.3


def test_each_split_looks_up_its_own_digits(config):
    config.data = ConfigDict(
        dict(source='digits', data_dir='', probing='multidigits', num_digits=2, canvas=28)
    )
    experiment = build(config)
    evaluator = Evaluator(experiment)
    variables = experiment.init_state(experiment.seed_key).variables
    found = {split: evaluator.embed(variables, split) for split in ('train', 'test')}
    for split, role in (('train', Role.TRAIN_EXAMPLES), ('test', Role.TEST_EXAMPLES)):
        dataset = getattr(experiment, split)
        rows, key = dataset.source.take(np.arange(50)), key_for(experiment.seed_key, role)
        tables = jax.tree.map(jnp.asarray, dict(dataset.tables))
        expected = step.compose(dataset, rows, tables, key)
        np.testing.assert_array_equal(found[split]['factor_label_2'][:50], expected['label_2'])
    # Of 1,000 digits of the test split, class after class, some lie in the last classes.
    assert set(found['test']['factor_label_2']) == set(range(10))


def test_the_step_descends_its_own_loss():
    dataset = probing.plain(sources.open_source('digits', 'train'))
    model = models.convnet(channels=(16, 32, 32), features=32, head_widths=(32, 16))
    optimizer = optimizers.adam(learning_rate=3e-3, num_steps=60)

    def loss(z1, z2, key):
        del key
        return losses.nt_xent(z1, z2, temperature=0.2)

    train_step = jax.jit(
        step.make_train_step(
            dataset=dataset, view=crop, model=model, loss=loss, optimizer=optimizer
        )
    )
    train_state = state.init_state(model, optimizer, (28, 28, 1), 0)
    batch = dataset.source.take(np.arange(0, 4000, 62))
    values = []
    for _ in range(60):
        train_state, metrics = train_step(train_state, batch, {}, jax.random.key(0))
        values.append(float(metrics['loss']))
    # Chance is log(2 * 65 - 1) = 4.86; on one batch the loss falls far below it.
    assert np.mean(values[-5:]) < 3.9


def test_embedding_is_in_inference_mode_and_independent_of_the_batch(dataset):
    model = models.convnet(channels=(4, 4, 4), features=8, head_widths=(8, 4))
    embed_step = jax.jit(make_embed_step(dataset=dataset, view=lambda image: image, model=model))
    variables = model.init(jax.random.key(0), jnp.zeros((1, 28, 28, 4)), train=False)
    key = key_for(0, Role.TEST_EXAMPLES)
    together = embed_step(variables, dataset.source.take(np.arange(8)), {}, key)
    alone = embed_step(variables, dataset.source.take(np.array([5])), {}, key)
    for name in ('embeddings', 'projections', 'factor_label', 'factor_code'):
        np.testing.assert_allclose(together[name][5], alone[name][0], atol=1e-5)
