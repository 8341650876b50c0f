"""Composed examples of a probing dataset, as training and evaluation make them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax.data.probing.dataset import Draws, evaluation_draws
from contrastive_jax.randomness import Role, key_for, keys_for_examples


def composed(dataset, ids, role=Role.TRAIN_EXAMPLES, seed=0):
    """The examples of evaluation."""
    draws = jax.vmap(evaluation_draws)(_keys(ids, role, seed))
    return _compose(dataset, draws, ids)


def sides(dataset, ids, step=0):
    """The two sides of pairs at a step of training."""
    keys = _keys(ids, Role.TRAIN_EXAMPLES, 0)
    visit, *own = (
        jax.random.split(jax.random.fold_in(jax.random.key(1), 3 * step + number), len(keys))
        for number in range(3)
    )
    return [
        _compose(dataset, Draws(keys, visit, own[i], jnp.full(len(keys), i, jnp.int32)), ids)
        for i in range(2)
    ]


def _keys(ids, role, seed):
    return keys_for_examples(key_for(seed, role), np.asarray(ids, np.int32))


def _compose(dataset, draws, ids):
    rows = dataset.source.take(np.asarray(ids))
    return jax.device_get(_composer(dataset.compose)(draws, rows, dict(dataset.tables)))


@functools.cache
def _composer(compose):
    """Compiled once for all calls of a dataset with batches of one size."""
    return jax.jit(jax.vmap(compose, in_axes=(0, 0, None)))
