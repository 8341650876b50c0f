"""Pairs of one class: how they are drawn."""

import jax
import numpy as np
import pytest
from scipy import stats

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import disjoint_same_class_pairs, same_class_pairs


@pytest.fixture
def key():
    return jax.random.key(0)


def test_same_class_pairs_are_independent_draws_of_one_class(key):
    """Classes by frequency, the second uniform among the others: all cells, chi-square."""
    labels = np.array([7, -1, 7, 7, -1, 5])  # the last has no partner
    first, second = same_class_pairs(labels, key, num_pairs=9000)
    np.testing.assert_array_equal(labels[first], labels[second])
    table = np.zeros((6, 6))
    np.add.at(table, (first, second), 1)
    assert not np.any(first == second)
    together = (labels[:, None] == labels) & ~np.eye(6, dtype=bool)
    expected = np.where(together, 9000 / 5 / np.maximum(together.sum(axis=1), 1)[:, None], 0)
    assert stats.chisquare(table[together], expected[together]).pvalue > 1e-3
    again, _ = same_class_pairs(labels, key, num_pairs=9000)
    np.testing.assert_array_equal(first, again)
    assert len(same_class_pairs(labels, key)[0]) == 6
    with pytest.raises(BadInput, match='No two of 3 labels are equal'):
        same_class_pairs(np.arange(3), key)


def test_disjoint_pairs_have_each_example_once_and_every_pair_as_often():
    """Of 5 and 4 examples: 15 ways to leave one out and pair the rest, and 3; chi-square."""
    labels = np.array([3, 8, 3, 3, 8, 3, 8, 8, 3, 1])  # the last is alone
    table = np.zeros((10, 10))
    for seed in range(600):
        first, second = disjoint_same_class_pairs(labels, jax.random.key(seed))
        assert len({*first.tolist(), *second.tolist()}) == 2 * len(first) == 8
        np.testing.assert_array_equal(labels[first], labels[second])
        np.add.at(table, (first, second), 1)
    together = np.triu(labels[:, None] == labels, 1)
    found = (table + table.T)[together]
    # Two pairs among the 10 of five examples, and two among the 6 of four.
    expected = 600 * np.where(labels == 3, 2 / 10, 2 / 6)[:, None] * np.ones(10)
    assert stats.chisquare(found, expected[together]).pvalue > 1e-3
    again = disjoint_same_class_pairs(labels, jax.random.key(599))
    np.testing.assert_array_equal(again, (first, second))


def test_labels_without_a_pair(key):
    for labels in (np.zeros(0, int), np.arange(3), np.zeros(1, int)):
        for draw in (same_class_pairs, disjoint_same_class_pairs):
            with pytest.raises(BadInput, match=f'No two of {len(labels)} labels are equal'):
                draw(labels, key)
    with pytest.raises(BadInput, match='labels'):
        disjoint_same_class_pairs(np.full(4, 0.5), key)
