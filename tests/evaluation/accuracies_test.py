"""Ranks against sorting, and what is made of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.evaluation import accuracies


def test_places_are_in_the_sorted_classes_or_after_them():
    found = accuracies.places_of(np.array([7, -2, 3, 9, 4]), np.array([-2, 4, 7]))
    assert found.tolist() == [2, 0, 3, 3, 1]


@pytest.mark.parametrize('kind', ['numpy', 'jitted'])
def test_ranks_equal_places_in_a_stable_order(kind):
    generator = np.random.default_rng(0)
    scores = generator.integers(-2, 3, (50, 7)).astype(np.float32)  # many ties
    places = generator.integers(0, 8, 50).astype(np.int32)
    if kind == 'numpy':
        found = accuracies.ranks(scores, places)
    else:
        found = np.asarray(jax.jit(accuracies.ranks)(jnp.asarray(scores), jnp.asarray(places)))
    for row, place, rank in zip(scores, places, found, strict=True):
        order = sorted(range(7), key=lambda c, row=row: (-row[c], c))
        assert rank >= 7 if place == 7 else rank == order.index(place)


def test_accuracies_count_ranks():
    found = accuracies.accuracies(np.array([0, 0, 4, 5, 6, 9]), 6)
    assert found['test_accuracy'] == 2 / 6
    assert found['test_top5'] == 3 / 6
    assert found['unseen'] == 2
    assert found['test_accuracy_low'] < 2 / 6 < found['test_accuracy_high']
    assert 'test_top5' not in accuracies.accuracies(np.array([0, 1]), 5)
    assert all(isinstance(value, float) for value in found.values())
