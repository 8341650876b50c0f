"""The papers' SGD probes against a plain loop in float64, and what they refuse."""

import jax
import numpy as np
import pytest
from scipy import special

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import sgd_probe
from contrastive_jax.evaluation.sgd_probe import RECIPES, learning_rates, plateaus

# What the papers say: rate of a full step, batch, epochs, Nesterov, decay, deviation.
STATED = {
    'simclr_cifar': (0.1 * 512 / 256, 512, 100, True, 0, 0),
    'simclr_imagenet': (0.1 * 4096 / 256, 4096, 90, True, 1e-6, 0),
    'wang2021': (30, 256, 100, False, 0, 0.01),
    'wu2020': (0.01, 256, 30, False, 1e-5, 0),
    'rusak2022': (30, 256, 30, False, 0, 0),
}


def blobs(count, seed=0, classes=3, dimensions=4):
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(9).normal(size=(classes, dimensions)) * 0.8
    labels = generator.integers(0, classes, count)
    return centres[labels] + generator.normal(size=(count, dimensions)), labels


def loop(passes, labels, name, rate_of, *, decay, seed, epochs, batch):
    """Weights, biases and the loss of all rows of the first pass, by a recipe as it is stated."""
    nesterov, deviation = STATED[name][3], STATED[name][5]
    classes, dimensions = labels.max() + 1, passes.shape[2]
    init_key, order_key = jax.random.split(jax.random.key(seed))
    start = deviation * np.asarray(jax.random.normal(init_key, (classes, dimensions)), float)
    # The biases are the last column, which meets a one in every row.
    weights = np.c_[start, np.zeros(classes)]
    velocity = np.zeros_like(weights)
    passes = np.concatenate([passes, np.ones((*passes.shape[:2], 1))], axis=2)
    step = 0
    for epoch in range(epochs):
        rows = passes[epoch % len(passes)]
        order = np.asarray(jax.random.permutation(jax.random.fold_in(order_key, epoch), len(rows)))
        for start in range(0, len(rows) - batch + 1, batch):
            chosen = order[start : start + batch]
            error = special.softmax(rows[chosen] @ weights.T, axis=1)
            error[np.arange(batch), labels[chosen]] -= 1
            slope = error.T @ rows[chosen] / batch + decay * weights
            velocity = 0.9 * velocity + slope
            weights = weights - rate_of(epoch, step) * (
                slope + 0.9 * velocity if nesterov else velocity
            )
            step += 1
    scores = passes[0] @ weights.T
    own = scores[np.arange(len(labels)), labels]
    return weights, np.mean(special.logsumexp(scores, axis=1) - own)


@pytest.mark.parametrize('name', RECIPES)
def test_equals_a_plain_loop(name, monkeypatch):
    decay = 1e4 * STATED[name][4]  # so much that it shows
    monkeypatch.setitem(RECIPES, name, RECIPES[name]._replace(weight_decay=decay))
    train, labels = blobs(23)
    test, test_labels = blobs(300, seed=1)
    passes = np.stack([train, train + 0.1 * np.random.default_rng(2).normal(size=train.shape)])
    rate, batch = STATED[name][:2]
    scaled = rate * 5 / batch if name.startswith(('simclr', 'rusak')) else rate
    factors = {'wang2021': [1, 1, 0.2, 0.04, 0.008], 'wu2020': [1, 1, 1, 1, 1]}.get(name)

    def rate_of(epoch, step):
        return scaled * (factors[epoch] if factors else (1 + np.cos(np.pi * step / 20)) / 2)

    options = dict(seed=3, epochs=5)
    weights, loss = loop(passes, labels, name, rate_of, decay=decay, batch=5, **options)
    found = sgd_probe(passes, labels, test, test_labels, recipe=name, batch_size=5, **options)
    scores = np.c_[test, np.ones(300)] @ weights.T
    assert found['final_loss'] == pytest.approx(loss, rel=1e-4, abs=1e-6)
    expected = np.mean(scores.argmax(axis=1) == test_labels)
    assert 0.4 < expected < 0.95  # neither chance nor trivial
    assert found['test_accuracy'] == pytest.approx(expected, abs=1.01 / 300)


def test_recipes_are_as_stated():
    for name, recipe in RECIPES.items():
        rate, batch, epochs, *others = STATED[name]
        assert learning_rates(recipe, recipe.batch_size, 1, [])[0] == np.float32(rate)
        assert (recipe.batch_size, recipe.epochs) == (batch, epochs)
        assert [recipe.nesterov, recipe.weight_decay, recipe.deviation] == others


def test_rates_fall_as_stated():
    step, cosine = RECIPES['wang2021'], RECIPES['simclr_cifar']
    rates = [learning_rates(step, 256, 2, [0.0] * epoch)[1] for epoch in range(100)]
    expected = np.repeat([30, 6, 1.2, 0.24], [40, 20, 20, 20])
    np.testing.assert_allclose(rates, expected, rtol=1e-6)
    rates = np.concatenate([learning_rates(cosine, 512, 3, [0.0] * epoch) for epoch in range(100)])
    np.testing.assert_allclose(rates, 0.1 * (1 + np.cos(np.pi * np.arange(300) / 300)), atol=1e-7)
    stuck = [learning_rates(RECIPES['wu2020'], 256, 1, [1.0] * epoch)[0] for epoch in range(30)]
    np.testing.assert_allclose(stuck, np.repeat([1e-2, 1e-3, 1e-4], [11, 10, 9]), rtol=1e-6)


def test_a_plateau_is_ten_epochs_of_little_gain():
    assert plateaus([0.99**epoch for epoch in range(30)]) == 0
    assert plateaus([1.0] + [0.9995] * 9) == 0
    assert plateaus([1.0] + [0.9995] * 10) == 1
    assert plateaus([1.0] + [0.9995] * 9 + [0.99] + [0.9899] * 9) == 0
    assert plateaus([1.0] * 40) == 2


def test_a_set_smaller_than_the_batch_is_one_batch():
    sets = *blobs(30), *blobs(40, seed=1)
    whole = sgd_probe(*sets, recipe='wang2021', epochs=4)
    assert whole == sgd_probe(*sets, recipe='wang2021', epochs=4, batch_size=30)
    first, second = (
        sgd_probe(*sets, epochs=4, batch_size=7, seed=seed)['final_loss'] for seed in (0, 1)
    )
    assert first != second
    assert first == sgd_probe(*sets, epochs=4, batch_size=7)['final_loss']


def test_top_five_and_classes_that_were_never_trained_on():
    (train, labels), (test, test_labels) = blobs(60, classes=7), blobs(90, seed=1, classes=8)
    found = sgd_probe(train, 10 * labels, test, 10 * test_labels, epochs=3)
    assert found['unseen'] == np.sum(test_labels == 7) > 0
    assert found['test_accuracy'] <= found['test_top5'] <= 1 - np.mean(test_labels == 7)
    assert 'test_top5' not in sgd_probe(*blobs(60), *blobs(90), epochs=3)
    assert all(isinstance(value, float) for value in found.values())


@pytest.mark.parametrize(
    ('options', 'sentence'),
    [
        ({'recipe': 'simclr'}, "recipe is 'simclr', not one of: rusak2022, simclr_cifar"),
        ({'epochs': 0}, 'epochs is 0; it must be an integer above 0'),
        ({'batch_size': 2.5}, 'batch_size is 2.5'),
        ({'learning_rate': float('nan')}, 'learning_rate is nan; it must be a number above 0'),
        ({'seed': -1}, 'seed is -1, outside'),
    ],
)
def test_bad_options_are_named(options, sentence):
    with pytest.raises(BadInput, match=sentence):
        sgd_probe(*blobs(30), *blobs(20), **options)


def test_bad_embeddings_are_named():
    train, labels = blobs(30)
    broken = np.stack([train, train])
    broken[1, 3, 0] = np.nan
    with pytest.raises(BadInput, match='1 of 60 train embeddings are not finite'):
        sgd_probe(broken, labels, train, labels)
    with pytest.raises(BadInput, match=r'\[v, n, d\] of v passes, got shape \(30,\)'):
        sgd_probe(train[:, 0], labels, train, labels)
    with pytest.raises(BadInput, match='nothing to tell apart'):
        sgd_probe(train, labels * 0, train, labels)
    with pytest.raises(BadInput, match='loss of the probe is .* in epoch .*scale them'):
        sgd_probe(train * 1e30, labels, train, labels)
