"""Nearest neighbours against a plain loop and scikit-learn."""

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import knn_accuracy


def data(seed=0):
    generator = np.random.default_rng(seed)
    train, test = generator.normal(size=(300, 8)), generator.normal(size=(611, 8))
    return train, np.argmax(train[:, :4], axis=1), test, np.argmax(test[:, :4], axis=1)


def plain_loop(train, train_labels, test, test_labels, k, temperature):
    train = train / np.linalg.norm(train, axis=1, keepdims=True)
    correct = 0
    test = test / np.linalg.norm(test, axis=1, keepdims=True)
    for row, label in zip(test, test_labels, strict=True):
        similarity = train @ row
        votes = np.zeros(4)
        for neighbour in np.argsort(-similarity)[:k]:
            votes[train_labels[neighbour]] += np.exp(similarity[neighbour] / temperature)
        correct += votes.argmax() == label
    return correct / len(test)


@pytest.mark.parametrize(('k', 'temperature'), [(1, 0.07), (20, 0.07), (300, 1.0), (5, 0.5)])
def test_equals_a_plain_loop(k, temperature):
    found = knn_accuracy(*data(), k=k, temperature=temperature)
    assert found == pytest.approx(plain_loop(*data(), k, temperature), abs=1e-9)


def test_one_neighbour_equals_scikit_learn():
    train, train_labels, test, test_labels = data()
    peer = KNeighborsClassifier(1, metric='cosine').fit(train, train_labels)
    assert knn_accuracy(*data(), k=1) == pytest.approx(peer.score(test, test_labels), abs=1e-9)


def test_length_does_not_matter_and_tiny_temperature_is_the_nearest():
    train, train_labels, test, test_labels = data()
    plain = knn_accuracy(train, train_labels, test, test_labels, k=1)
    scaled = knn_accuracy(
        jnp.asarray(train * 1e3, jnp.float32), train_labels, test * 1e-3, test_labels,
        k=50, temperature=1e-5,
    )  # fmt: skip
    assert scaled == pytest.approx(plain, abs=1e-9)


def test_bad_options_are_named():
    with pytest.raises(BadInput, match='k is 301, outside 1..300'):
        knn_accuracy(*data(), k=301)
    with pytest.raises(BadInput, match='temperature is 0'):
        knn_accuracy(*data(), temperature=0)


def test_ties_go_to_the_earlier_row():
    generator = np.random.default_rng(3)
    # Few distinct rows of lengths that are exact, so that most similarities are equal.
    train, test = np.eye(4)[generator.integers(0, 4, 400)], np.eye(4)[np.arange(300) % 4]
    labels = generator.integers(0, 5, 400)
    nearest = [labels[np.flatnonzero((train == row).all(axis=1))] for row in test]
    for k in (1, 7):
        votes = [np.bincount(found[:k], minlength=5).argmax() for found in nearest]
        assert knn_accuracy(train, labels, test, votes, k=k) == 1.0
