"""Runs that keep more than an encoder: interrupted, restored, started from another run."""

import itertools
import json
import os
import shutil
import signal
import time

import jax
import numpy as np
import pytest
from ml_collections import ConfigDict

from contrastive_jax import sharding
from contrastive_jax.errors import BadInput, Preempted
from contrastive_jax.memory import clusters
from contrastive_jax.training import metrics_log
from contrastive_jax.training.build import build
from contrastive_jax.training.checkpoints import Checkpoints
from contrastive_jax.training.evaluate import evaluate_workdir
from contrastive_jax.training.loop import train
from contrastive_jax.training.state import state_shapes

KINDS = {
    'bank and clusters': dict(
        loss=dict(name='local_aggregation', temperature=dict(initial=0.2)),
        memory=dict(
            background=dict(name='ring', num_steps=4, num_draws=40),
            close=dict(num_clusters=20, num_seeds=1, refresh_every=2),
        ),
    ),
    'queue': dict(
        loss=dict(name='queue_contrastive', temperature=0.2),
        memory=dict(size=20),
        target=dict(momentum=0.9),
    ),
    'bootstrap': dict(loss=dict(name='byol_regression'), target=dict(predictor_width=8)),
}


@pytest.fixture
def small(config):
    """The smoke config, whose network has batch norm, on vectors of noise."""
    config.num_steps, config.checkpoint_every = 4, 1
    config.data = dict(probing='plain', source='digits', data_dir='')
    config.views = dict(name='flip')
    config.evaluation = dict(name='knn', k=1)

    def of(kind):
        for section, value in KINDS[kind].items():
            config[section] = ConfigDict(value)
        return config

    return of


def final_state(path, config, step=None):
    checkpoints = Checkpoints(path, create=False)
    state = checkpoints.restore(state_shapes(build(config)), step)
    checkpoints.close()
    return state


def assert_equal(a, b):
    assert jax.tree.structure(a) == jax.tree.structure(b)
    jax.tree.map(np.testing.assert_array_equal, a, b)


def timeless(path):
    rows = metrics_log.read(path)
    return [
        {name: value for name, value in row.items() if name not in ('images_per_second', 'seconds')}
        for row in rows
    ]


@pytest.mark.slow
@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('visit', [1, 3])
def test_an_interrupted_run_is_the_whole_one_bit_for_bit(tmp_path, small, monkeypatch, kind, visit):
    config = small(kind)
    train(config, tmp_path / 'whole', quiet=True)
    visits, original = itertools.count(1), metrics_log.MetricsLog.write

    def interrupted(*arguments):
        if next(visits) == visit:
            os.kill(os.getpid(), signal.SIGTERM)
        return original(*arguments)

    monkeypatch.setattr(metrics_log.MetricsLog, 'write', interrupted)
    with pytest.raises(Preempted, match=f'step {visit} is saved'):
        train(config, tmp_path / 'broken', quiet=True)
    train(config, tmp_path / 'broken', quiet=True)
    assert timeless(tmp_path / 'whole') == timeless(tmp_path / 'broken')
    assert_equal(*(final_state(tmp_path / name, config) for name in ('whole', 'broken')))


@pytest.mark.slow
def test_a_run_interrupted_while_clusters_are_fitted_is_the_whole_one(tmp_path, small, monkeypatch):
    config = small('bank and clusters')
    train(config, tmp_path / 'whole', quiet=True)
    fit = clusters.fit

    def interrupted(*arguments, **options):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)

    monkeypatch.setattr(clusters, 'fit', interrupted)
    started = time.monotonic()
    with pytest.raises(Preempted, match='step 2 is saved'):
        train(config, tmp_path / 'broken', quiet=True)
    assert time.monotonic() - started < 50
    monkeypatch.setattr(clusters, 'fit', fit)
    train(config, tmp_path / 'broken', quiet=True)
    assert timeless(tmp_path / 'whole') == timeless(tmp_path / 'broken')
    assert_equal(*(final_state(tmp_path / name, config) for name in ('whole', 'broken')))


@pytest.mark.slow
def test_a_checkpoint_holds_the_bank_and_the_clusters(tmp_path, small):
    config = small('bank and clusters')
    train(config, tmp_path, quiet=True)
    earlier, last = (final_state(tmp_path, config, step) for step in (3, 4))
    ids = np.flatnonzero(np.any(earlier.memory['bank'] != last.memory['bank'], axis=1))
    assert len(ids) == config.batch_size
    # Fitted after steps 2 and 4, each time to another bank.
    assert not np.array_equal(earlier.memory['clusters'], last.memory['clusters'])
    assert len(np.unique(earlier.memory['clusters'])) == 20
    assert not np.array_equal(
        earlier.beside['params']['temperature']['free'],
        last.beside['params']['temperature']['free'],
    )
    experiment = build(config, sharding.data_mesh(1))
    checkpoints = Checkpoints(tmp_path, create=False)
    on_one = checkpoints.restore(state_shapes(experiment))
    checkpoints.close()
    assert_equal(on_one, last)
    assert on_one.memory['bank'].sharding.mesh.size == 1
    assert evaluate_workdir(tmp_path)['step'] == 4  # it embeds the encoder alone


@pytest.mark.slow
def test_a_warm_start_takes_encoder_and_bank_once(tmp_path, small):
    config = small('bank and clusters')
    config.loss = ConfigDict(dict(name='instance_discrimination', temperature=0.2))
    del config.memory
    train(config, tmp_path / 'first', quiet=True)
    source = final_state(tmp_path / 'first', config, step=3)
    # From the bank objective to one with clusters, with next to no step of its own.
    config = small('bank and clusters')
    config.init_from = f'{tmp_path / "first"}@3'
    config.num_steps, config.memory.momentum = 1, 0.5
    config.optimizer = dict(name='sgd', learning_rate=1e-12, schedule='constant')
    train(config, tmp_path / 'second', quiet=True)
    warm = final_state(tmp_path / 'second', config)
    for a, b in zip(jax.tree.leaves(source.params), jax.tree.leaves(warm.params), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)
    moved = np.any(np.asarray(source.memory['bank'] != warm.memory['bank']), axis=1)
    assert moved.sum() == config.batch_size
    recorded = json.loads((tmp_path / 'second/config.json').read_text())['config']
    assert recorded['init_from'] == config.init_from
    # What goes on reads it no more.
    shutil.rmtree(tmp_path / 'first')
    with (tmp_path / 'second/metrics.jsonl').open() as log:
        lines = log.readlines()
    (tmp_path / 'second/metrics.jsonl').write_text(''.join(lines[:-1]))
    train(config, tmp_path / 'second', quiet=True)
    assert_equal(final_state(tmp_path / 'second', config), warm)


def test_a_warm_start_that_cannot_be_leaves_no_workdir(tmp_path, small):
    config = small('queue')
    config.num_steps, config.log_every = 1, 1
    train(config, tmp_path / 'first', quiet=True)
    wider = config.copy_and_resolve_references()
    wider.model.features = 9
    wider.init_from = str(tmp_path / 'first')
    sentence = r'another architecture in \d+ arrays, for example .*saved \(8,\), wanted \(9,\)'
    with pytest.raises(BadInput, match=sentence):
        train(wider, tmp_path / 'second', quiet=True)
    for init_from, sentence in (
        (str(tmp_path / 'nowhere'), 'is not the directory of a run'),
        (f'{tmp_path / "first"}@7', r'no checkpoint at step 7; the steps kept are: \[1\]'),
    ):
        config.init_from = init_from
        with pytest.raises(BadInput, match=sentence):
            train(config, tmp_path / 'second', quiet=True)
    assert not (tmp_path / 'second').exists()
    assert not (tmp_path / 'nowhere').exists()


@pytest.mark.slow
def test_a_momentum_encoder_starts_as_the_encoder_taken_over(tmp_path, small):
    config = small('queue')
    train(config, tmp_path / 'first', quiet=True)
    source = final_state(tmp_path / 'first', config)
    config.init_from = str(tmp_path / 'first')
    config.num_steps = 1
    config.optimizer = dict(name='sgd', learning_rate=1e-12, schedule='constant')
    train(config, tmp_path / 'second', quiet=True)
    warm = final_state(tmp_path / 'second', config)
    for a, b in zip(jax.tree.leaves(source.params), jax.tree.leaves(warm.target), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
