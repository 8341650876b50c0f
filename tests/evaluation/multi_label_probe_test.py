"""The multi-label probe against scikit-learn's one-vs-rest and a loop over thresholds."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import multi_label_probe


def data(count, seed):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(count, 6)) * 3 + 1
    scores = rows @ np.random.default_rng(9).normal(size=(6, 4))
    return rows, (scores + 4 * generator.normal(size=scores.shape) > [3, 0, -3, 6]).astype(int)


def average_precision(present, scores):
    """sum_k (R_k - R_k-1) P_k by counting, threshold by threshold."""
    total, before = 0.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        hits = sum(p for p, s in zip(present, scores, strict=True) if s >= threshold)
        recall = hits / sum(present)
        total += (recall - before) * hits / np.sum(scores >= threshold)
        before = recall
    return total


def test_agrees_with_one_vs_rest_and_a_loop():
    (train, labels), (test, test_labels) = data(150, 0), data(120, 1)
    scale = StandardScaler().fit(train)
    # The penalty is of both rows of a softmax's W, half that of their difference.
    peer = OneVsRestClassifier(LogisticRegression(C=2 / (1e-2 * 150), max_iter=1000))
    peer.fit(scale.transform(train), labels)
    scores = peer.decision_function(scale.transform(test))
    expected = [average_precision(test_labels[:, c], scores[:, c]) for c in range(4)]
    found = multi_label_probe(train, labels, test, test_labels, regularization=1e-2)
    np.testing.assert_allclose(found['average_precision'], expected, atol=1e-9)
    assert found['mean_average_precision'] == pytest.approx(np.mean(expected), abs=1e-9)
    match = np.mean(np.all(peer.predict(scale.transform(test)) == test_labels, axis=1))
    assert 0.1 < match < 0.9
    assert found['exact_match'] == pytest.approx(match, abs=1e-9)
    assert (found['left_out'], found['converged']) == (0.0, 1.0)


def test_classes_of_one_value_are_left_out_and_counted():
    (train, labels), (test, test_labels) = data(150, 0), data(120, 1)
    plain = multi_label_probe(train, labels, test, test_labels)
    wider = np.c_[np.ones(150, int), labels, np.zeros(150, int)]
    wider_test = np.c_[np.zeros(120, int), test_labels, np.ones(120, int)]
    found = multi_label_probe(train, wider, test, wider_test)
    assert found['left_out'] == 2.0
    assert np.isnan(found['average_precision'][[0, 5]]).all()
    for name in ('mean_average_precision', 'exact_match'):
        assert found[name] == plain[name]
    absent = np.c_[test_labels[:, :3], np.zeros(120, int)]
    found = multi_label_probe(train, labels, test, absent)
    assert np.isnan(found['average_precision']).tolist() == [False, False, False, True]
    assert found['mean_average_precision'] == np.mean(plain['average_precision'][:3])


@pytest.mark.parametrize(
    ('change', 'sentence'),
    [
        (lambda labels: labels[:, 0], r'train labels must be one row a row, \[150, c\]'),
        (lambda labels: labels * 2, 'train labels must be 0 or 1'),
        (lambda labels: labels[:, :3], '3 and 4 classes'),
        (lambda labels: labels * 0, '0 have both rows with and rows without'),
    ],
)
def test_bad_labels_are_named(change, sentence):
    (train, labels), (test, test_labels) = data(150, 0), data(120, 1)
    with pytest.raises(BadInput, match=sentence):
        multi_label_probe(train, change(labels), test, test_labels)
