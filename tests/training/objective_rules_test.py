"""Two steps of each kind of objective against its update rule, written out in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ml_collections import ConfigDict

from contrastive_jax import sharding
from contrastive_jax.errors import BadInput
from contrastive_jax.randomness import Role, key_for
from contrastive_jax.training import memories
from contrastive_jax.training.build import build

RATE = 0.5  # of plain gradient descent


def experiment_of(config, **sections):
    """An encoder of two layers that sees every image as it is, on one device."""
    config.batch_size, config.num_steps = 4, 10
    config.data = dict(probing='plain', source='digits', data_dir='')
    config.views = dict(name='none')
    config.model = dict(name='mlp', widths=(12,), head_widths=(6,), slope=0.0)
    config.optimizer = dict(name='sgd', learning_rate=RATE, momentum=0.0, schedule='constant')
    config.evaluation = dict(name='knn', k=1)
    for section, value in sections.items():
        config[section] = ConfigDict(value)
    return build(config, sharding.data_mesh(1))


def two_steps(
    experiment, first=(0, 900, 1800, 2700), second=(0, 900, 3600, 3999), sides_differ=False
):
    """The states before, between and after two steps, the metrics, and the images [n, h, w, c].

    The two sides of a pair are one image, or, where they differ, the image of a place and that of
    the place before it.
    """
    step, states, rows, images = jax.jit(experiment.train_step), [], [], []
    states.append(experiment.init_state(experiment.seed_key))
    for ids in (first, second):
        batch = experiment.train.source.take(np.asarray(ids))
        images.append(jnp.asarray(batch['image'], jnp.float32) / 255)
        if sides_differ:
            batch |= {f'partner_{name}': before(of) for name, of in batch.items()}
        state, metrics = step(states[-1], batch, experiment.train_tables, experiment.seed_key)
        states.append(state)
        rows.append(metrics)
    return states, rows, images, (first, second)


def before(rows):
    """The rows of the places before."""
    return np.roll(rows, 1, axis=0)


def projections(experiment, params, images):
    return experiment.model.apply({'params': params}, images, train=True)[1]


def unit(rows):
    rows = np.asarray(rows, np.float64)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def softmax_loss(positive, candidates):
    """Mean of -log softmax of the positives, one row of candidates each."""
    terms = [
        np.log(sum(np.exp(other) for other in row)) - own
        for own, row in zip(positive, candidates, strict=True)
    ]
    return np.mean(terms)


def assert_close(tree, expected):
    for a, b in zip(jax.tree.leaves(tree), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, atol=2e-6)


def assert_descends(states, gradient_of):
    """Each step is plain gradient descent along `gradient_of(step number, its parameters)`."""
    for number in (0, 1):
        gradient = gradient_of(number, states[number].trained)
        assert max(float(jnp.max(jnp.abs(leaf))) for leaf in jax.tree.leaves(gradient)) > 1e-3
        expected = jax.tree.map(lambda w, g: w - RATE * g, states[number].trained, gradient)
        assert_close(states[number + 1].trained, expected)


def assert_target_follows(states, momentum_of):
    for number in (0, 1):
        momentum = momentum_of(number)
        followed = jax.tree.map(
            lambda old, new, m=momentum: m * np.float64(old) + (1 - m) * np.float64(new),
            states[number].target,
            states[number + 1].params,
        )
        assert_close(states[number + 1].target, followed)


def unit_jax(rows):
    return rows / jnp.linalg.norm(rows, axis=-1, keepdims=True)


def test_a_queue_is_read_before_and_written_after_and_wraps(config):
    experiment = experiment_of(
        config,
        loss=dict(name='queue_contrastive', temperature=0.5),
        memory=dict(size=6),
        target=dict(momentum=0.7),
    )
    states, rows, images, _ = two_steps(experiment, sides_differ=True)
    jax.tree.map(np.testing.assert_array_equal, states[0].target, states[0].params)
    expected = list(np.float64(states[0].memory['rows']))
    np.testing.assert_allclose(np.linalg.norm(expected, axis=1), 1, atol=1e-6)
    place = 0
    for number in (0, 1):
        queries = unit(projections(experiment, states[number].params, images[number]))
        keys = unit(projections(experiment, states[number].target, before(images[number])))
        positive = np.sum(queries * keys, axis=1) / 0.5
        against = queries @ np.stack(expected).T / 0.5
        loss = softmax_loss(positive, np.concatenate([positive[:, None], against], axis=1))
        assert float(rows[number]['loss']) == pytest.approx(loss, rel=1e-5)
        for key in keys:  # 8 keys through 6 places
            expected[place] = key
            place = (place + 1) % 6
        memory = states[number + 1].memory
        np.testing.assert_allclose(memory['rows'], np.stack(expected), atol=1e-6)
        assert int(memory['oldest']) == place
    assert_target_follows(states, lambda step: 0.7)

    def gradient_of(number, params):
        state = states[number]
        constants = jnp.asarray(
            unit(projections(experiment, state.target, before(images[number]))), jnp.float32
        )
        oldest_first = jnp.asarray(np.roll(state.memory['rows'], -state.memory['oldest'], axis=0))

        def loss(params):
            queries = unit_jax(projections(experiment, params, images[number]))
            positive = jnp.sum(queries * constants, axis=1)
            logits = jnp.concatenate([positive[:, None], queries @ oldest_first.T], axis=1) / 0.5
            return -jnp.mean(jax.nn.log_softmax(logits)[:, 0])

        return jax.grad(loss)(params)

    assert_descends(states, gradient_of)


def test_bootstrap_targets_have_no_gradient_and_follow_by_a_cosine(config):
    experiment = experiment_of(
        config,
        loss=dict(name='byol_regression'),
        target=dict(momentum=0.6, predictor_width=10),
    )
    states, rows, images, _ = two_steps(experiment)
    assert_target_follows(states, lambda k: 1 - 0.4 * (np.cos(np.pi * k / 10) + 1) / 2)
    # Without batch norm in the encoder the predictor has none: two dense layers with biases.
    assert set(states[0].beside['params']['predictor']) == {'Dense_0', 'Dense_1'}

    def loss_at(number, trained):
        z = projections(experiment, trained['encoder'], images[number])
        layers = trained['predictor']
        hidden = jnp.maximum(z @ layers['Dense_0']['kernel'] + layers['Dense_0']['bias'][None], 0)
        predicted = hidden @ layers['Dense_1']['kernel'] + layers['Dense_1']['bias'][None]
        target = projections(experiment, states[number].target, images[number])
        # Both views are the image itself here, so both directions are this one.
        return 2 - 2 * jnp.mean(jnp.sum(unit_jax(predicted) * unit_jax(target), axis=1))

    for number in (0, 1):
        loss = loss_at(number, states[number].trained)
        assert float(rows[number]['loss']) == pytest.approx(float(loss), rel=1e-5)
    assert_descends(states, jax.grad(loss_at, argnums=1))


def test_a_bank_is_read_before_and_moved_after(config):
    experiment = experiment_of(
        config, loss=dict(name='contrastive', temperature=0.5), memory=dict(momentum=0.3)
    )
    states, rows, images, ids = two_steps(experiment)
    bank = np.float64(states[0].memory['bank'])
    assert bank.shape == (4000, 6)
    for number in (0, 1):
        anchors = unit(projections(experiment, states[number].params, images[number]))
        logits = anchors @ bank.T / 0.5
        positive = [logits[place, row] for place, row in enumerate(ids[number])]
        assert float(rows[number]['loss']) == pytest.approx(
            softmax_loss(positive, logits), rel=1e-5
        )
        for anchor, row in zip(anchors, ids[number], strict=True):
            bank[row] = unit(0.3 * bank[row] + 0.7 * anchor)
        np.testing.assert_allclose(states[number + 1].memory['bank'], bank, atol=1e-6)


def test_the_nearest_rows_of_the_bank_are_those_of_the_anchor(config):
    experiment = experiment_of(
        config,
        loss=dict(name='annulus', temperature=0.5),
        memory=dict(background=dict(count=50), close=dict(name='nearest', count=7)),
    )
    states, rows, images, ids = two_steps(experiment)
    for number in (0, 1):
        anchors = unit(projections(experiment, states[number].params, images[number]))
        logits = anchors @ np.float64(states[number].memory['bank']).T / 0.5
        positive, candidates = [], []
        for row, own in zip(logits, ids[number], strict=True):
            order = np.argsort(-row)
            members = (set(order[:50]) - set(order[:7])) | {own}
            positive.append(row[own])
            candidates.append([row[j] for j in members])
        loss = softmax_loss(positive, candidates)
        assert float(rows[number]['loss']) == pytest.approx(loss, rel=1e-5)


def test_clusters_start_alone_and_are_fitted_when_due(config):
    experiment = experiment_of(
        config,
        loss=dict(name='local_aggregation', temperature=0.5),
        memory=dict(
            background=dict(count=100),
            close=dict(num_clusters=30, num_seeds=2, refresh_every=2),
        ),
    )
    states, rows, images, ids = two_steps(experiment)
    before = states[-1].memory
    assert experiment.refresh(before, 1) is before
    np.testing.assert_array_equal(before['clusters'][:, 0], np.arange(4000))
    after = experiment.refresh(before, 2)
    assert experiment.refresh(after, 2) is after
    np.testing.assert_array_equal(after['bank'], before['bank'])
    assert [len(np.unique(labels)) for labels in after['clusters'].T] == [30, 30]
    # The next step aggregates the background's rows of the anchor's clusters.
    batch = experiment.train.source.take(np.asarray(ids[0]))
    _, metrics = jax.jit(experiment.train_step)(
        states[-1]._replace(memory=after), batch, {}, experiment.seed_key
    )
    anchors = unit(projections(experiment, states[-1].params, images[0]))
    logits = anchors @ np.float64(after['bank']).T / 0.5
    labels, terms = np.asarray(after['clusters']), []
    for row, own in zip(logits, ids[0], strict=True):
        background = set(np.argsort(-row)[:100]) | {own}
        close = [j for j in background if np.any(labels[j] == labels[own])]
        terms.append(
            np.log(sum(np.exp(row[j]) for j in background))
            - np.log(sum(np.exp(row[j]) for j in close))
        )
    assert float(metrics['loss']) == pytest.approx(np.mean(terms), rel=1e-5)
    # Alone, a row aggregates itself: the loss before is larger.
    assert float(rows[0]['loss']) > np.mean(terms)


@pytest.mark.parametrize('nearest', [None, 50])
def test_each_of_two_encoders_sees_its_view_and_faces_the_bank_of_the_other(config, nearest):
    experiment = experiment_of(
        config,
        loss=dict(name='contrastive_multiview_coding', temperature=0.5),
        memory=dict(background=dict(name='nearest', count=nearest)) if nearest else {},
        data=dict(probing='plain', source='photographs,size=12', data_dir=''),
        views=dict(name='luminance', beside='colour', area_range=(1.0, 1.0), aspect_range=(1, 1)),
    )
    size = len(experiment.train.source)
    ids = [(0, size // 2, 3, 5), (0, 1, 2, size - 1)]
    states, rows, _, _ = two_steps(experiment, *ids)
    assert states[0].params['first']['Dense_0']['kernel'].shape == (144, 12)
    assert states[0].params['second']['Dense_0']['kernel'].shape == (288, 12)
    banks = [np.float64(states[0].memory[f'bank{number}']) for number in (1, 2)]
    assert not np.allclose(banks[0], banks[1], atol=0.1)
    step = jax.jit(experiment.train_step)
    for number in (0, 1):
        batch = experiment.train.source.take(np.asarray(ids[number]))
        # With a bank of zeros the rows that enter are the anchors themselves.
        zeros = {name: jnp.zeros_like(rows) for name, rows in states[number].memory.items()}
        after, _ = step(states[number]._replace(memory=zeros), batch, {}, experiment.seed_key)
        anchors = [np.float64(after.memory[f'bank{k}'])[list(ids[number])] for k in (1, 2)]
        loss = 0.0
        for own, other in ((0, 1), (1, 0)):
            positive, candidates = [], []
            for row, place in zip(anchors[own] @ banks[other].T / 0.5, ids[number], strict=True):
                members = set(np.argsort(-row)[:nearest]) | {place}
                positive.append(row[place])
                candidates.append([row[j] for j in members])
            loss += softmax_loss(positive, candidates)
        assert float(rows[number]['loss']) == pytest.approx(loss, rel=1e-5)
        for k in (0, 1):
            for anchor, row in zip(anchors[k], ids[number], strict=True):
                banks[k][row] = unit(0.5 * banks[k][row] + 0.5 * anchor)
            np.testing.assert_allclose(
                states[number + 1].memory[f'bank{k + 1}'], banks[k], atol=2e-6
            )
    # The features of evaluation are those of both, each of its own channels.
    batch = experiment.test.source.take(np.arange(3))
    embedded = experiment.embed_steps['test'](
        states[-1].variables, batch, dict(experiment.test.tables), experiment.seed_key
    )
    assert embedded['embeddings'].shape == (3, 24)
    assert embedded['projections'].shape == (3, 12)


def test_a_classifier_reads_the_features_and_leaves_the_head_alone(config):
    experiment = experiment_of(config, loss=dict(name='cross_entropy'))
    states, rows, images, ids = two_steps(experiment)
    labels = [experiment.train.source.labels[list(of)] for of in ids]

    def loss_at(number, trained):
        h, _ = experiment.model.apply({'params': trained['encoder']}, images[number], train=True)
        layer = trained['classifier']
        logits = h @ layer['kernel'] + layer['bias'][None]
        chosen = jax.nn.log_softmax(logits)[jnp.arange(4), jnp.asarray(labels[number])]
        return -jnp.mean(chosen)

    assert states[0].trained['classifier']['kernel'].shape == (12, 10)
    for number in (0, 1):
        loss = loss_at(number, states[number].trained)
        assert float(rows[number]['loss']) == pytest.approx(float(loss), rel=1e-5)
    assert_descends(states, jax.grad(loss_at, argnums=1))
    head = [state.params['Dense_1']['kernel'] for state in states]
    np.testing.assert_array_equal(head[0], head[2])


def test_the_bound_moves_encoder_and_decoder_by_a_code_drawn_anew_at_each_step(config):
    experiment = experiment_of(
        config,
        loss=dict(name='evidence_lower_bound', beta=0.5),
        decoder=dict(dimensions=3, widths=(7,)),
        optimizer=dict(name='sgd', learning_rate=1e-3, momentum=0.0, schedule='constant'),
    )
    states, rows, images, _ = two_steps(experiment)

    def dense(layer, rows):
        return rows @ layer['kernel'] + layer['bias'][None]

    @jax.jit
    def loss_at(trained, images, noise):
        h, _ = experiment.model.apply({'params': trained['encoder']}, images, train=True)
        layers = trained['decoder']
        mean, log_variance = dense(layers['mean'], h), dense(layers['log_variance'], h)
        code = mean + jnp.sqrt(jnp.exp(log_variance)) * noise
        logits = dense(layers['Dense_1'], jnp.maximum(dense(layers['Dense_0'], code), 0))
        pixels = images.reshape(4, -1)
        log_likelihood = pixels * jax.nn.log_sigmoid(logits)
        log_likelihood += (1 - pixels) * jax.nn.log_sigmoid(-logits)
        divergence = (mean**2 + jnp.exp(log_variance) - log_variance - 1) / 2
        return (-jnp.sum(log_likelihood) + 0.5 * jnp.sum(divergence)) / 4

    gradient_of = jax.jit(jax.grad(loss_at))
    for number in (0, 1):
        trained = states[number].trained
        key = jax.random.fold_in(key_for(experiment.seed_key, Role.BESIDE_DRAWS, number), 0)
        noise = jax.random.normal(key, (4, 3))
        loss = float(loss_at(trained, images[number], noise))
        assert float(rows[number]['loss']) == pytest.approx(loss, rel=1e-6)
        assert abs(loss - float(loss_at(trained, images[number], 0 * noise))) > 1e-3
        gradient = gradient_of(trained, images[number], noise)
        moved = jax.tree.map(lambda w, g: w - 1e-3 * g, trained, gradient)
        assert_close(states[number + 1].trained, moved)
        for layer in (gradient['encoder']['Dense_0'], *gradient['decoder'].values()):
            assert np.abs(layer['kernel']).max() > 0.01
    head = [state.params['Dense_1']['kernel'] for state in states]
    np.testing.assert_array_equal(head[0], head[2])


def test_appended_channels_are_reconstructed_too(config):
    experiment = experiment_of(
        config,
        loss=dict(name='evidence_lower_bound'),
        data=dict(probing='randbit', source='digits', data_dir='', num_bits=3),
    )
    state = experiment.init_state(experiment.seed_key)
    layers = state.beside['params']['decoder']
    assert layers['Dense_1']['kernel'].shape[-1] == 28 * 28
    assert layers['constant']['kernel'].shape[-1] == 3  # once an image
    # All logits 0: log 2 for each pixel of all four channels.
    state = state._replace(beside=jax.tree.map(jnp.zeros_like, state.beside))
    batch = experiment.train.source.take(np.arange(4))
    _, metrics = jax.jit(experiment.train_step)(
        state, batch, experiment.train_tables, experiment.seed_key
    )
    expected = 28 * 28 * (1 + 3) * np.log(2)
    np.testing.assert_allclose(metrics['reconstruction'], expected, rtol=1e-6)


@pytest.mark.parametrize(
    ('sections', 'sentence'),
    [
        (dict(decoder=dict(dimensions=0)), 'config.decoder.dimensions is 0; it must be a whole'),
        (dict(decoder=dict(widths=8)), 'config.decoder.widths is 8; it must be numbers'),
        (dict(decoder=dict(depth=2)), r'config.decoder.depth is not an option.*dimensions=32'),
        (dict(target=dict(momentum=0.5)), 'config.target is given, but the loss'),
        (dict(loss=dict(name='nt_xent', temperature=1.0), decoder=dict(dimensions=3)),
         'config.decoder is given, but the loss'),
        (dict(optimizer=dict(name='sgd', learning_rate=1.0, accumulate=2)), 'has a decoder beside'),
    ],
)  # fmt: skip
def test_what_a_decoder_cannot_be_is_a_sentence(config, sections, sentence):
    loss = dict(name='evidence_lower_bound')
    with pytest.raises(BadInput, match=sentence):
        experiment_of(config, **{'loss': loss, **sections})


def test_a_learned_temperature_moves_by_adam_at_its_own_rate(config):
    experiment = experiment_of(
        config,
        loss=dict(name='nt_xent', temperature=dict(initial=0.5, learning_rate=0.01)),
        views=dict(name='flip'),
    )
    states, _, _, _ = two_steps(experiment)
    free = [np.float64(state.beside['params']['temperature']['free']) for state in states]
    np.testing.assert_allclose(1 / np.log1p(np.exp(free[0])), 0.5, rtol=1e-6)
    # The first step of Adam is its rate, whatever the gradient.
    np.testing.assert_allclose(np.abs(free[1] - free[0]), 0.01, rtol=1e-3)
    assert not np.allclose(free[2], free[1], atol=1e-4)


def test_a_rule_of_sets_is_named_by_a_word_or_refused_in_a_sentence():
    few = {'background': {'name': 'nearest', 'count': 5}}
    assert list(memories.bind_sets(few, ['background'], 50, 5)) == ['background']
    assert list(memories.bind_sets({'background': 'nearest'}, ['background'], 50, 5))
    few['background']['count'] = 51
    with pytest.raises(BadInput, match=r'memory\.background\.count is 51'):
        memories.bind_sets(few, ['background'], 50, 5)
    with pytest.raises(BadInput, match='background is 5; it must name a rule'):
        memories.bind_sets({'background': 5}, ['background'], 50, 5)
