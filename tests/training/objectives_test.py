"""Every kind of loss trains: by its rule, on any number of devices, better paired than not."""

import itertools

import jax
import numpy as np
import pytest
from ml_collections import ConfigDict

from contrastive_jax import losses, sharding
from contrastive_jax.training import bind_loss
from contrastive_jax.training.build import build
from contrastive_jax.training.step import jit_train_step

PHOTOGRAPHS = dict(probing='plain', source='photographs,size=12', data_dir='')
CLUSTERS = dict(num_clusters=40, num_seeds=2, refresh_every=2)

# One config of every kind: the sections that differ from `small`.
KINDS = {
    'two views': dict(loss=dict(name='sphere_info_nce', temperature=0.2)),
    'queue': dict(
        loss=dict(name='queue_contrastive', temperature=0.2),
        memory=dict(size=28),
        target=dict(momentum=0.9),
    ),
    'bootstrap': dict(  # which collapses without batch norm
        loss=dict(name='byol_regression'),
        target=dict(momentum=0.9, predictor_width=16),
        model=dict(name='convnet', channels=(4, 4, 4), features=8, head_widths=(8, 8)),
    ),
    'bank': dict(loss=dict(name='contrastive', temperature=0.2)),
    'noise': dict(
        loss=dict(name='instance_discrimination_noise_contrastive', temperature=0.2),
        memory=dict(noise=dict(num_draws=64)),
    ),
    'nearest': dict(
        loss=dict(name='annulus', temperature=0.2),
        memory=dict(background=dict(name='nearest', count=64), close=dict(name='nearest', count=3)),
    ),
    'ring': dict(
        loss=dict(name='ball', temperature=0.2),
        memory=dict(background=dict(name='ring', num_steps=20, num_draws=64, inner=0.1)),
    ),
    'clusters': dict(
        loss=dict(name='local_aggregation', temperature=0.2),
        memory=dict(momentum=0.3, background=dict(count=400), close=CLUSTERS),
    ),
    'two banks': dict(
        loss=dict(name='contrastive_multiview_coding', temperature=0.2),
        memory=dict(background=dict(count=50)),
        data=PHOTOGRAPHS,
        views=dict(name='luminance', beside='colour', area_range=(0.5, 1.0)),
    ),
    'one view': dict(
        loss=dict(
            name='distribution_matching',
            prior='uniform_hypersphere',
            distribution='log_sum_exp',
            temperature=0.2,
        )
    ),
    'labelled rows': dict(loss=dict(name='supcon', temperature=0.2)),
    'classified': dict(loss=dict(name='cross_entropy')),
    'several classes': dict(
        loss=dict(name='multi_label'),
        data=dict(probing='multidigits', source='digits', data_dir='', num_digits=2, canvas=32),
    ),
    'generative': dict(
        loss=dict(name='evidence_lower_bound'),
        decoder=dict(dimensions=4, widths=(8,)),
    ),
    'learned temperature': dict(
        loss=dict(name='nt_xent', temperature=dict(initial=0.2, learning_rate=0.1))
    ),
}


def small(config, kind):
    """The config of a kind with a network of two layers and plain gradient descent."""
    config.batch_size, config.num_steps, config.checkpoint_every = 16, 4, 2
    config.data = dict(probing='plain', source='digits', data_dir='')
    config.views = dict(name='flip')
    config.model = dict(name='mlp', widths=(24,), head_widths=(8,), slope=0.0)
    config.optimizer = dict(name='sgd', learning_rate=0.5, momentum=0.0, schedule='constant')
    config.evaluation = dict(name='knn', k=1)
    for section, value in KINDS[kind].items():
        config[section] = ConfigDict(value)
    return config


def batch_of(experiment, count=16, start=0):
    """Examples of many classes, the same at every call."""
    size = len(experiment.train.source)
    return experiment.train.source.take(start + np.arange(0, size, size // count)[:count])


def steps_of(experiment, batches):
    """The states before, between and after steps on these batches, and the metrics of each."""
    states, rows = [experiment.init_state(experiment.seed_key)], []
    train_step, tables = jit_train_step(experiment, donate=False), experiment.train_tables
    with jax.set_mesh(experiment.mesh):
        for number, batch in enumerate(batches, start=1):
            batch = sharding.to_devices(batch, experiment.mesh)
            state, metrics = train_step(states[-1], batch, tables, experiment.seed_key)
            if experiment.refresh:
                state = state._replace(memory=experiment.refresh(state.memory, number))
            states.append(state)
            rows.append({name: float(value) for name, value in metrics.items()})
    return states, rows


def test_every_public_training_objective_is_of_a_kind():
    estimates = {'barber_agakov', 'info_nce_bound', 'nwj', 'sliced_wasserstein', 'vince_bound'}
    untrained = set(losses.__all__) - set(bind_loss.trainable_losses())
    assert untrained == estimates


def test_one_array_is_one_view_and_two_of_any_names_are_two():
    def spread(z, temperature=0.5, *, weight): ...

    def own_pair(z, z_other): ...

    assert bind_loss.arrays_of(spread) == ('z',)
    assert bind_loss.arrays_of(losses.supcon) == ('z', 'labels')
    assert bind_loss.arrays_of(own_pair) is None


FEW = ('queue', 'bootstrap', 'clusters')
REST = [pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if kind not in FEW]


@pytest.mark.slow
@pytest.mark.parametrize('kind', [*FEW, *REST])
def test_four_devices_train_as_one(config, kind):
    config = small(config, kind)
    # A step's rounding is 3e-6. Batch norm and the kinks of 4 channels make 2e-4 of it in 3 steps
    # at a rate of 0.5, and at 0.05, on some processors, 3e-5; at 0.02 it stays.
    # A bound in nats is a sum over 784 pixels, steep at any rate above 1e-3.
    config.optimizer.learning_rate = 1e-4 if kind == 'generative' else 0.02
    results = []
    for devices in (1, 4):
        experiment = build(config, sharding.data_mesh(devices))
        batches = [batch_of(experiment, start=start) for start in (0, 1, 2)]
        states, rows = steps_of(experiment, batches)
        results.append((states[-1], rows))
    (one, rows_of_one), (four, rows_of_four) = results
    assert jax.tree.structure(one) == jax.tree.structure(four)
    for of_one, of_four in zip(rows_of_one, rows_of_four, strict=True):
        for name in ('loss', 'gradient_norm'):
            assert of_four[name] == pytest.approx(of_one[name], rel=1e-4), name
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(four), strict=True):
        np.testing.assert_allclose(a, b, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize('kind', ['bank', 'two banks', 'labelled rows'])
def test_micro_batches_leave_the_step_and_its_memory_as_they_are(config, kind):
    config = small(config, kind)
    results = []
    for accumulate in (1, 2):
        config.optimizer.accumulate = accumulate
        experiment = build(config)
        results.append(steps_of(experiment, [batch_of(experiment)] * 2)[0][-1])
    for a, b in zip(*map(jax.tree.leaves, results), strict=True):
        np.testing.assert_allclose(a, b, atol=2e-5)


def mispaired(kind, batch):
    """The batch with every second view, row of the bank or label of another example.

    What sees one view alone gets images unlike those that it was trained on.
    """
    rolled = {name: np.roll(rows, 5, axis=0) for name, rows in batch.items()}
    if kind in ('bank', 'noise', 'nearest', 'ring', 'clusters', 'two banks'):
        return {**batch, 'id': rolled['id']}
    if kind == 'generative':
        return {**batch, 'image': 255 - batch['image']}
    if kind in ('labelled rows', 'classified'):
        return {**batch, 'label': rolled['label']}
    if kind == 'several classes':  # the other digit is the id's
        return {**batch, 'id': rolled['id'], 'label': rolled['label']}
    return {**batch, **{f'partner_{name}': rows for name, rows in rolled.items()}}


@pytest.mark.slow
@pytest.mark.parametrize('kind', KINDS)
def test_training_lowers_the_loss_and_mispairing_raises_it(config, kind):
    config = small(config, kind)
    config.num_steps, config.optimizer.learning_rate = 60, 0.1
    if kind == 'clusters':  # 40 of them, fitted every second step, end as one
        config.memory.close.update(num_clusters=300, refresh_every=50)
    if kind == 'ring':  # which makes the negatives harder as it shrinks
        config.memory.background.num_steps = 10_000
    if kind == 'several classes':  # a mean over classes
        config.optimizer.learning_rate = 3.0
    if kind == 'generative':  # a sum over 784 pixels
        config.optimizer.learning_rate = 1e-3
    if kind == 'two banks':  # the 50 nearest of 10,000 rows are alike whatever is learned
        del config.memory
    experiment = build(config, sharding.data_mesh(1))
    batch = batch_of(experiment, count=400)  # a tenth of the bank
    states, rows = steps_of(experiment, itertools.repeat(batch, 60))
    last = np.mean([row['loss'] for row in rows[-3:]])
    assert last < rows[0]['loss'] - 0.05
    if kind == 'one view':  # nothing is paired
        return
    with jax.set_mesh(experiment.mesh):
        _, worse = jit_train_step(experiment, donate=False)(
            states[-1], mispaired(kind, batch), experiment.train_tables, experiment.seed_key
        )
    assert float(worse['loss']) > last + 0.02
