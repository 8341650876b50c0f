"""K-means labels of separated blobs, and the close sets that labels define."""

import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.losses import neighbour_sets
from contrastive_jax.memory import clusters


def test_separated_blobs_are_found_under_every_seed():
    random = np.random.default_rng(0)
    side = np.repeat([1.0, -1.0], 20)[:, None]
    rows = side * np.array([[1.0, 0.0, 0.0]]) + 0.05 * random.normal(size=(40, 3))
    labels = np.asarray(clusters.fit(rows, num_clusters=2, num_seeds=3))
    assert labels.shape == (40, 3)
    for seed in labels.T:
        assert len(set(seed[:20])) == len(set(seed[20:])) == 1
        assert seed[0] != seed[20]


def test_seeds_differ_and_repeat():
    rows = np.random.default_rng(0).normal(size=(60, 4))
    labels = np.asarray(clusters.fit(rows, num_clusters=6, num_seeds=3))
    again = np.asarray(clusters.fit(rows, num_clusters=6, num_seeds=2, first_seed=1))
    np.testing.assert_array_equal(labels[:, 1:], again)
    same = [seed[:, None] == seed[None] for seed in labels.T]
    assert not np.array_equal(same[0], same[1])


def test_close_is_the_union_of_the_clusterings_within_the_background():
    labels = jnp.asarray(np.random.default_rng(0).integers(0, 4, (12, 3)), jnp.int32)
    index = jnp.array([0, 5], jnp.int32)
    background = jnp.array([[1, 2, 3, -1, 0, 7], [11, 10, -1, 5, 12, 4]], jnp.int32)
    close = np.asarray(clusters.close(labels, index, background))
    for i in range(2):
        for k, j in enumerate(np.asarray(background[i])):
            together = 0 <= j < 12 and any(labels[j, s] == labels[index[i], s] for s in range(3))
            assert close[i, k] == (j if together else -1)


def test_before_the_first_clustering_local_aggregation_is_ball():
    random = np.random.default_rng(0)
    bank = random.normal(size=(12, 4)).astype(np.float32)
    bank = jnp.asarray(bank / np.linalg.norm(bank, axis=1, keepdims=True))
    index = jnp.array([2, 9], jnp.int32)
    background = jnp.array([[1, 2, 3, 4], [8, 9, 0, 1]], jnp.int32)
    close = clusters.close(clusters.init(12, 5), index, background)
    options = {'temperature': 0.1, 'background': background}
    ball = neighbour_sets.ball(bank[index], bank, index, **options)[0]
    aggregated = neighbour_sets.local_aggregation(bank[index], bank, index, **options, close=close)[
        0
    ]
    assert float(aggregated) == pytest.approx(float(ball), rel=1e-6)


def test_more_clusters_than_rows_is_a_value_error():
    with pytest.raises(ValueError, match=r'num_clusters must be in 1\.\.5'):
        clusters.fit(np.eye(5), num_clusters=6)
