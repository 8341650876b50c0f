"""Clusters of a memory bank: K-means under several seeds, and the close sets they define."""

import jax.numpy as jnp
import numpy as np
from sklearn import cluster


def init(size, num_seeds=10):
    """Labels [N, seeds] with every row alone, so that local aggregation starts as BALL."""
    return jnp.repeat(jnp.arange(size, dtype=jnp.int32)[:, None], num_seeds, axis=1)


def fit(bank, *, num_clusters, num_seeds=10, first_seed=0, max_iterations=20):
    """K-means of the bank's rows under consecutive seeds, on the host.

    Args:
      bank: unit rows [N, d].
      num_clusters: k in 1..N; 300 for CIFAR-10, 30,000 for ImageNet in the paper.
      num_seeds: clusterings.
      first_seed: seed of the first one; the others follow.
      max_iterations: Lloyd iterations, from random rows as centres.

    Returns:
      Labels [N, seeds], int32: a row's cluster under every seed.

    Raises:
      ValueError: num_clusters outside 1..N.

    Source: the close sets of Wu 2020, Sec. 2 (LA); Zhuang et al. 2019.
    """
    rows = np.asarray(bank, np.float32)
    if not 1 <= num_clusters <= len(rows):
        raise ValueError(f'num_clusters must be in 1..{len(rows)}, got {num_clusters}.')
    labels = [
        cluster.KMeans(
            num_clusters, init='random', n_init=1, max_iter=max_iterations, random_state=seed
        ).fit_predict(rows)
        for seed in range(first_seed, first_seed + num_seeds)
    ]
    return jnp.asarray(np.stack(labels, axis=1), jnp.int32)


def close(labels, index, background):
    """The ids of the background that share a cluster with the anchor under any seed.

    Args:
      labels: [N, seeds] of `fit` or `init`.
      index: the anchors' rows [b], in 0..N-1.
      background: ids [b, k], -1 an empty place.

    Returns:
      ids [b, k]: those of the background that are close, -1 elsewhere: the union over seeds of
      the same-cluster rows, within the background.
    """
    size = labels.shape[0]
    own = labels[jnp.clip(index, 0, size - 1)]
    theirs = labels[jnp.clip(background, 0, size - 1)]
    together = jnp.any(theirs == own[:, None, :], axis=2)
    return jnp.where(together & (background >= 0) & (background < size), background, -1)
