"""The linear probe: what it must read, what it must not, and what it refuses."""

import numpy as np
import pytest
from scipy import optimize, special
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import top_k_accuracy_score
from sklearn.preprocessing import StandardScaler

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import linear_probe, linear_probe_by_class
from contrastive_jax.evaluation.linear_probe import fit_logistic


def blobs(count, distance, seed=0, classes=4, dimensions=16):
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(9).normal(size=(classes, dimensions)) * distance
    labels = generator.integers(0, classes, count)
    return centres[labels] + generator.normal(size=(count, dimensions)), labels


def test_separable_classes_are_read_perfectly():
    found = linear_probe(*blobs(400, 5), *blobs(300, 5, seed=1))
    assert found['test_accuracy'] == 1.0
    assert found['test_accuracy_high'] == pytest.approx(1.0)
    assert 0.98 < found['test_accuracy_low'] < 1.0
    assert found['converged'] == 1.0


def test_noise_is_read_at_chance():
    found = linear_probe(*blobs(2000, 0), *blobs(2000, 0, seed=1))
    assert abs(found['test_accuracy'] - 0.25) < 0.06
    assert found['test_accuracy_low'] < 0.25 + 0.04


def test_the_fit_is_the_optimum_of_the_stated_objective():
    (train, labels), (test, test_labels) = blobs(300, 0.5), blobs(2000, 0.5, seed=1)
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    rows, one_hot = (train - mean) / deviation, np.eye(4)[labels]

    def objective(flat):
        weights, bias = flat[:64].reshape(16, 4), flat[64:]
        logits = rows @ weights + bias
        probabilities = special.softmax(logits, axis=1)
        value = np.mean(special.logsumexp(logits, axis=1) - logits[np.arange(300), labels])
        slope = (probabilities - one_hot) / 300
        gradient = np.r_[(rows.T @ slope + 1e-2 * weights).ravel(), slope.sum(axis=0)]
        return value + 0.5e-2 * np.sum(weights**2), gradient

    best = optimize.minimize(objective, np.zeros(68), jac=True, options={'gtol': 1e-8}).x
    logits = (test - mean) / deviation @ best[:64].reshape(16, 4) + best[64:]
    found = linear_probe(train, labels, test, test_labels, regularization=1e-2)
    expected = np.mean(logits.argmax(axis=1) == test_labels)
    assert 0.4 < expected < 0.95  # neither chance nor trivial
    assert found['test_accuracy'] == pytest.approx(expected, abs=2 / 2000)


def test_scale_and_shift_of_the_embeddings_do_not_matter():
    train, labels = blobs(300, 0.5)
    generator = np.random.default_rng(2)
    scale, shift = generator.uniform(0.01, 100, 16), generator.normal(size=16) * 50
    plain = linear_probe(train, labels, *blobs(300, 0.5, seed=1))
    test, test_labels = blobs(300, 0.5, seed=1)
    moved = linear_probe(train * scale + shift, labels, test * scale + shift, test_labels)
    assert abs(plain['test_accuracy'] - moved['test_accuracy']) <= 1 / 300


def test_a_constant_dimension_says_nothing():
    (train, labels), (test, test_labels) = blobs(300, 2), blobs(200, 2, seed=1)
    plain = linear_probe(train, labels, test, test_labels)
    padded = linear_probe(
        np.c_[train, np.full(300, 7.0)], labels, np.c_[test, np.full(200, -7.0)], test_labels
    )
    assert padded == plain


def test_half_precision_is_computed_in_double():
    (train, labels), (test, test_labels) = blobs(300, 5), blobs(200, 5, seed=1)
    found = linear_probe(train.astype(np.float16), labels, test.astype(np.float16), test_labels)
    assert found['test_accuracy'] == 1.0


def test_bad_embeddings_are_named():
    (train, labels), (test, test_labels) = blobs(30, 2), blobs(20, 2, seed=1)
    broken = train.copy()
    broken[3, 0], broken[7, 1] = np.nan, np.inf
    with pytest.raises(BadInput, match='2 of 30 train embeddings are not finite'):
        linear_probe(broken, labels, test, test_labels)
    with pytest.raises(BadInput, match='train labels must be one a row'):
        linear_probe(train, labels[:-1], test, test_labels)
    with pytest.raises(BadInput, match='16 and 15 dimensions'):
        linear_probe(train, labels, test[:, 1:], test_labels)
    with pytest.raises(BadInput, match='nothing to tell apart'):
        linear_probe(train, np.zeros(30, int), test, test_labels)


def test_each_class_has_its_accuracy():
    (train, labels), (test, test_labels) = blobs(300, 0.5), blobs(200, 0.5, seed=1)
    labels, test_labels = 3 * labels, 3 * test_labels
    plain = linear_probe(train, labels, test, test_labels)
    found = linear_probe_by_class(train, labels, test, test_labels)
    assert found['classes'].tolist() == [0, 3, 6, 9]
    assert found['train_rows'].tolist() == [np.sum(labels == c) for c in (0, 3, 6, 9)]
    for place, label in enumerate((0, 3, 6, 9)):
        # The accuracy of the rows of one class by the same fit: that of the others left away.
        of_class = test_labels == label
        alone = linear_probe(train, labels, test[of_class], test_labels[of_class])
        assert found['accuracy'][place] == pytest.approx(alone['test_accuracy'], abs=1e-12)
        assert found['test_rows'][place] == of_class.sum()
    weighted = np.average(found['accuracy'], weights=found['test_rows'])
    assert weighted == pytest.approx(plain['test_accuracy'], abs=1e-12)


def test_classes_that_one_set_lacks():
    (train, labels), (test, test_labels) = blobs(300, 5), blobs(200, 5, seed=1)
    seen, asked = labels != 2, test_labels != 0
    sets = train[seen], labels[seen], test[asked], test_labels[asked]
    found = linear_probe(*sets)
    assert found['unseen'] == np.sum(test_labels == 2)
    assert found['test_accuracy'] == pytest.approx(np.mean(test_labels[asked] != 2), abs=1e-12)
    found = linear_probe_by_class(*sets)
    np.testing.assert_array_equal(found['accuracy'], [np.nan, 1, 0, 1])
    assert found['train_rows'][2] == found['test_rows'][0] == 0


def test_top_five_where_there_are_more_classes():
    sets = *blobs(400, 0.2, classes=9), *blobs(900, 0.2, seed=1, classes=9)
    found = linear_probe(*sets)
    train, labels, test, test_labels = sets
    peer = LogisticRegression(C=1 / (1e-3 * 400), max_iter=1000)
    scale = StandardScaler().fit(train)
    scores = peer.fit(scale.transform(train), labels).decision_function(scale.transform(test))
    expected = top_k_accuracy_score(test_labels, scores, k=5)
    assert 5 / 9 < expected < 0.99
    assert found['test_top5'] == pytest.approx(expected, abs=1.01 / 900)
    assert 'test_top5' not in linear_probe(*blobs(60, 2, classes=5), *blobs(60, 2, classes=5))


def test_two_classes_minimise_the_stated_objective_too():
    train, labels = blobs(60, 0.3, classes=2, dimensions=3)
    train = (train - train.mean(axis=0)) / train.std(axis=0)
    classifier, _ = fit_logistic(train, labels, 0.3, 1000)

    def objective(flat):
        weights, bias = flat[:-2].reshape(2, -1), flat[-2:]
        logits = train @ weights.T + bias
        spread = special.logsumexp(logits, axis=1) - logits[np.arange(len(labels)), labels]
        return spread.mean() + 0.15 * np.sum(weights**2)

    found = optimize.minimize(objective, np.zeros(2 * train.shape[1] + 2)).x
    weights = found[:-2].reshape(2, -1)
    np.testing.assert_allclose(weights[1] - weights[0], classifier.coef_[0], atol=1e-3)
