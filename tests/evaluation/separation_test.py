"""Local separation: sorted by hand, whatever the blocks and the mesh."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax import sharding
from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import local_separation, separation


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def by_hand(anchors, keys, index, count):
    """Positive and sorted negatives of every anchor."""
    anchors, keys = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (anchors, keys))
    positive, negatives = [], []
    for i, own in enumerate(index):
        s = [float(anchors[i] @ key) for key in keys]
        positive.append(s.pop(own))
        negatives.append(sorted(s, reverse=True)[:count])
    return np.array(positive), np.array(negatives)


@pytest.mark.parametrize('count', [1, 4, 11])
def test_sorts_the_negatives_of_each_anchor(count):
    anchors, keys, index = draw(0, 7, 5), draw(1, 12, 5), np.array([3, 0, 11, 3, 7, 1, 2])
    found = local_separation(anchors, keys, index, count=count)
    positive, negatives = by_hand(anchors, keys, index, count)
    np.testing.assert_allclose(found['positive'], positive.mean(), atol=1e-6)
    np.testing.assert_allclose(found['negatives'], negatives.mean(axis=0), atol=1e-6)
    errors = negatives.std(axis=0, ddof=1) / 7**0.5
    np.testing.assert_allclose(found['negatives_error'], errors, atol=1e-6)
    np.testing.assert_allclose(found['positive_error'], positive.std(ddof=1) / 7**0.5, atol=1e-6)
    assert np.all(np.diff(found['negatives']) <= 0)


def test_blocks_mesh_and_order_of_rows_do_not_matter(monkeypatch):
    anchors, keys = draw(2, 9, 4), draw(3, 9, 4)
    whole = local_separation(anchors, keys, count=3)
    with jax.set_mesh(sharding.data_mesh()):
        np.testing.assert_array_equal(
            local_separation(anchors, keys, count=3)['negatives'], whole['negatives']
        )
    order = np.random.default_rng(4).permutation(9)
    monkeypatch.setattr(separation, 'SIMILARITIES_AT_ONCE', 4 * 9)  # blocks of four rows
    blocked = local_separation(anchors[order], keys, order, count=3)
    for name, value in whole.items():
        np.testing.assert_allclose(blocked[name], value, atol=1e-6)


def test_orthogonal_keys_and_zero_rows():
    found = local_separation(np.eye(4), np.eye(4), count=3)
    assert found['positive'] == 1
    np.testing.assert_array_equal(found['negatives'], 0)
    zeros = local_separation(np.zeros((2, 3)), jnp.ones((2, 3), jnp.bfloat16), count=1)
    assert zeros['positive'] == zeros['negatives'][0] == 0
    assert local_separation(np.ones((1, 3)), np.ones((2, 3)), [1], count=1)['positive_error'] == 0


@pytest.mark.parametrize(
    ('index', 'count', 'sentence'),
    [
        (None, 2, 'index is required'),
        ([0, 1, 6], 2, 'index must be 3 integers from 0 to 5'),
        ([0, 1], 2, 'index must be 3 integers'),
        ([0.0, 1, 2], 2, 'index must be 3 integers'),
        ([0, 1, 2], 6, r'count is 6, outside 1..5'),
        ([0, 1, 2], 0, 'count is 0'),
    ],
)
def test_bad_input(index, count, sentence):
    with pytest.raises(BadInput, match=sentence):
        local_separation(draw(0, 3, 2), draw(1, 6, 2), index, count=count)


def test_bad_rows():
    with pytest.raises(BadInput, match='anchors and keys must be'):
        local_separation(np.ones((3, 2)), np.ones((3, 4)))
    with pytest.raises(BadInput, match='keys are 1 rows; at least 2'):
        local_separation(np.ones((1, 2)), np.ones((1, 2)))
    with pytest.raises(BadInput, match='anchors are not finite'):
        local_separation(np.full((2, 2), np.nan), np.ones((2, 2)))
