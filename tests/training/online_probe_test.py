"""The online probe learns, and the encoder is what it is without it."""

import itertools

import jax
import numpy as np
import pytest
from ml_collections import ConfigDict
from scipy.special import softmax

from configs.chen2021 import randbit_digits
from contrastive_jax import sharding
from contrastive_jax.data import batches
from contrastive_jax.errors import BadInput
from contrastive_jax.training import metrics_log, step
from contrastive_jax.training.build import build
from contrastive_jax.training.evaluate import evaluate_workdir
from contrastive_jax.training.loop import train
from contrastive_jax.training.online_probe import OnlineProbe

ADAM = dict(name='adam', learning_rate=3e-3, schedule='cosine', weight_decay=1e-2)
LARS = dict(name='lars', learning_rate=0.2, weight_decay=1e-2, warmup=0)


@pytest.fixture
def small(config):
    """The smoke config on the digits alone, with a small network."""
    config.num_steps, config.checkpoint_every = 2, 1
    config.data = dict(probing='plain', source='digits', data_dir='')
    config.views = dict(name='flip')
    config.model = dict(name='mlp', widths=(12,), head_widths=(6,))
    config.evaluation = dict(name='knn', k=1)
    return config


def states_of(config, devices=2, steps=2):
    """The states before each step and after the last, and the metrics of each step."""
    experiment = build(config, sharding.data_mesh(devices))
    train_step = step.jit_train_step(experiment, donate=False)
    states, rows = [experiment.init_state(experiment.seed_key)], []
    with jax.set_mesh(experiment.mesh):
        for batch in itertools.islice(batches.iterate(experiment.train_orders(), 0), steps):
            batch = sharding.to_devices(batch, experiment.mesh)
            after, metrics = train_step(states[-1], batch, {}, experiment.seed_key)
            states.append(after)
            rows.append(jax.device_get(metrics))
    return experiment, states, rows


@pytest.mark.parametrize(
    ('optimizer', 'probe'),
    [
        (ADAM, dict(features='z')),
        pytest.param(LARS, dict(learning_rate=0.01), marks=pytest.mark.slow),
    ],
    ids=['one optimizer for all', 'adam of its own'],
)
def test_the_encoder_is_bit_identical_with_and_without_it(small, optimizer, probe):
    small.optimizer = optimizer
    _, plain, rows_of_plain = states_of(small)
    small.online_probe = ConfigDict(probe)
    _, probed, rows_of_probed = states_of(small)
    for one, other in zip(plain, probed, strict=True):
        jax.tree.map(np.testing.assert_array_equal, one.variables, other.variables)
    for one, other in zip(rows_of_plain, rows_of_probed, strict=True):
        assert {name: other[name] for name in one} == one
        assert set(other) - set(one) == {'online_loss', 'online_train_accuracy'}
    weights = [state.beside['params']['online_probe']['kernel'] for state in probed]
    assert not np.array_equal(weights[1], weights[2])


def test_a_predictor_starts_as_it_does_without_it(small):
    small.loss = dict(name='byol_regression')
    small.target = ConfigDict(dict(predictor_width=8))
    plain = build(small).init_state(jax.random.key(0))
    small.online_probe = ConfigDict(dict())
    probed = build(small).init_state(jax.random.key(0))
    equal = np.testing.assert_array_equal
    jax.tree.map(equal, *(state.beside['params']['predictor'] for state in (plain, probed)))


def test_its_step_is_that_of_softmax_regression_on_all_views(small):
    small.views = dict(name='none')
    small.optimizer = dict(name='sgd', learning_rate=0.5, schedule='constant', momentum=0.0)
    small.optimizer.weight_decay = 0.1  # not of the probe
    small.online_probe = ConfigDict(dict(factor='label'))
    experiment, states, rows = states_of(small, devices=4)
    weights, bias = np.zeros((12, 10)), np.zeros(10)
    for k, (before, row) in enumerate(zip(states, rows, strict=False)):
        batch = experiment.train_orders()[''][k]
        images = batch['image'] / np.float32(255)
        h = np.float64(experiment.model.apply(before.variables, images, train=True)[0])
        labels = np.eye(10)[batch['label']]
        scores = softmax(h @ weights + bias, axis=1)
        loss = -np.mean(np.log(np.sum(scores * labels, axis=1)))
        assert row['online_loss'] == pytest.approx(loss, rel=1e-5)
        # Both views of an example are the same here, and so is their mean.
        weights -= 0.5 * h.T @ (scores - labels) / len(h)
        bias -= 0.5 * np.mean(scores - labels, axis=0)
    found = states[-1].beside['params']['online_probe']
    np.testing.assert_allclose(found['kernel'], weights, atol=1e-6)
    np.testing.assert_allclose(found['bias'], bias, atol=1e-6)
    assert rows[0]['online_loss'] == pytest.approx(np.log(10), rel=1e-6)


@pytest.mark.slow
def test_a_run_logs_it_keeps_it_and_reads_it_again(small, tmp_path):
    small.online_probe = ConfigDict(dict(learning_rate=0.01))
    small.num_steps = 40
    final = train(small, tmp_path)
    trained = [row for row in metrics_log.read(tmp_path) if 'online_loss' in row]
    assert len(trained) == 40
    assert trained[-1]['online_loss'] < trained[0]['online_loss'] - 0.2
    # 1,000 test digits of ten classes: chance is 0.1.
    assert 0.3 < final['online_accuracy_low'] < final['online_accuracy']
    again = evaluate_workdir(tmp_path)
    assert again['online_accuracy'] == final['online_accuracy']
    assert again['test_accuracy'] == final['test_accuracy']


@pytest.mark.parametrize(('views', 'places'), [('all', slice(None)), ('first', slice(0, None, 2))])
def test_its_loss_is_of_the_views_that_are_asked_for(views, places):
    logits = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    sides = [{'label': np.array([0, 1, 2])}, {'label': np.array([3, 1, 0])}]  # of another example
    labels = np.array([0, 3, 1, 1, 2, 0])
    value, parts = OnlineProbe('label', 'h', 4, None, views).loss(logits, sides)
    expected = -np.log(softmax(logits.astype(float), axis=1)[np.arange(6), labels])[places]
    assert float(value) == pytest.approx(expected.mean(), rel=1e-6)
    right = (logits.argmax(axis=1) == labels)[places]
    assert float(parts['online_train_accuracy']) == pytest.approx(right.mean())


def test_its_weights_start_as_they_are_asked_to():
    for initializer, largest in (('zeros', 0), ('glorot_uniform', np.sqrt(6 / (50 + 10)))):
        probe = OnlineProbe('label', 'h', 10, None, 'all', initializer)
        made = probe.module(50, 4)
        rows = [np.zeros((1, size), np.float32) for size in made.shapes]
        variables = made.module.init(jax.random.key(0), *made.reads(*rows))
        kernel = np.abs(variables['params']['kernel'])
        assert 0.9 * largest <= kernel.max() <= largest


def test_a_classifier_that_is_not_finite_is_right_about_nothing():
    probe = OnlineProbe('label', 'h', 2, None)
    test = {'embeddings': np.float32([[1, 0], [0, 1]]), 'factor_label': np.array([0, 1])}
    classifier = {'kernel': np.eye(2, dtype=np.float32), 'bias': np.zeros(2, np.float32)}
    assert probe.measure(classifier, test)['online_accuracy'] == 1
    classifier['bias'][0] = np.nan
    assert probe.measure(classifier, test)['online_accuracy'] == 0


def test_the_trained_parameters_of_the_randbit_notebook_are_139882_and_288_a_bit():
    config = randbit_digits.get_config()
    config.online_probe = ConfigDict(dict(factor='label'))
    for bits in (0, 5):
        config.data.num_bits = bits
        experiment = build(config)
        state = jax.eval_shape(experiment.init_state, experiment.seed_key)
        assert sum(leaf.size for leaf in jax.tree.leaves(state.trained)) == 139_882 + 288 * bits


@pytest.mark.parametrize(
    ('probe', 'sentence'),
    [
        (dict(factor='colour'), "config.online_probe.factor is 'colour'; the factors of this data"),
        (dict(features='y'), "config.online_probe.features is 'y', not one of: h, z"),
        (dict(learning_rate=0.0), 'config.online_probe.learning_rate is 0.0; it must be'),
        (dict(views='second'), "config.online_probe.views is 'second', not one of: all, first"),
        (dict(initializer='ones'), "initializer is 'ones', not one of: zeros, glorot_uniform"),
        (dict(rate=0.1), 'config.online_probe.rate is not an option of online_probe'),
    ],
)
def test_what_cannot_be_is_refused(small, probe, sentence):
    small.online_probe = ConfigDict(probe)
    with pytest.raises(BadInput, match=sentence):
        build(small)


def test_it_is_refused_in_micro_batches_and_where_there_is_no_factor(small):
    small.online_probe = ConfigDict(dict())
    small.optimizer.accumulate = 2
    with pytest.raises(BadInput, match='accumulate is 2, but there is a config.online_probe'):
        build(small)
    del small.optimizer.accumulate
    small.data = dict(probing='content_style', source='synthetic:50', data_dir='')
    small.evaluation = dict(name='identifiability')
    small.views = dict(name='none')
    with pytest.raises(BadInput, match="factor is 'label'; the factors of this data set are: none"):
        build(small)
