"""The queue against collections.deque, under batches of every size."""

import collections

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.memory import queue


@pytest.mark.parametrize('size', [1, 7, 12])
def test_queue_is_a_deque_under_random_batch_sizes(key, size):
    random = np.random.default_rng(size)
    state = queue.init(key, size, 3)
    expected = collections.deque(np.asarray(queue.read(state)), maxlen=size)
    write = jax.jit(queue.write)
    for batch in [0, 1, size, size + 1, 3 * size, *random.integers(0, 3 * size + 2, 25)]:
        keys = random.normal(size=(batch, 3)).astype(np.float32)
        state = write(state, jnp.asarray(keys))
        expected.extend(keys)
        np.testing.assert_array_equal(queue.read(state), np.stack(expected))


def test_init_is_unit_rows(key):
    rows = np.asarray(queue.init(key, 50, 8).rows)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)


def test_no_gradient_flows_into_the_queue(key):
    state = queue.init(key, 5, 3)
    keys = jnp.ones((2, 3))
    gradient = jax.grad(lambda k: jnp.sum(queue.write(state, k).rows))(keys)
    np.testing.assert_array_equal(gradient, 0)


def test_keys_of_another_dimension_are_a_value_error(key):
    with pytest.raises(ValueError, match=r'keys must be \[b, 3\]'):
        queue.write(queue.init(key, 5, 3), jnp.ones((2, 4)))
