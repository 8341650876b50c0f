"""The bank against a loop over rows; of duplicate ids the last write wins."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from contrastive_jax import sharding
from contrastive_jax.memory import bank


def loop(rows, index, features, momentum):
    """Every writer starts from the row before the step, so the last one alone counts."""
    before = np.asarray(rows, np.float64)
    after = before.copy()
    for i, feature in zip(np.asarray(index), np.asarray(features, np.float64), strict=True):
        if 0 <= i < len(before):
            row = momentum * before[i] + (1 - momentum) * feature / np.linalg.norm(feature)
            after[i] = row / np.linalg.norm(row)
    return after


def test_init_is_unit_rows_in_every_direction(key):
    rows = np.asarray(bank.init(key, 2000, 16))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(rows.mean(0), 0, atol=0.03)
    np.testing.assert_allclose(rows.T @ rows / 2000, np.eye(16) / 16, atol=0.01)


@pytest.mark.parametrize('momentum', [0.0, 0.5, 0.9])
def test_write_is_the_loop_with_duplicates_and_ids_outside(key, momentum):
    rows = bank.init(key, 20, 4)
    index = jnp.array([3, 7, 3, 19, -1, 20, 7, 3, 0], jnp.int32)
    features = 5 * jax.random.normal(jax.random.key(1), (9, 4))
    after = jax.jit(bank.write, static_argnames='momentum')(
        rows, index, features, momentum=momentum
    )
    np.testing.assert_allclose(after, loop(rows, index, features, momentum), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(after, axis=1), 1, rtol=1e-6)
    untouched = [i for i in range(20) if i not in (3, 7, 19, 0)]
    np.testing.assert_array_equal(after[np.array(untouched)], rows[np.array(untouched)])


def test_read_gives_what_was_written_last(key):
    rows = bank.init(key, 20, 4)
    features = jax.random.normal(jax.random.key(1), (3, 4))
    after = bank.write(rows, jnp.array([5, 6, 5]), features, momentum=0.0)
    unit = features / jnp.linalg.norm(features, axis=1, keepdims=True)
    np.testing.assert_allclose(
        bank.read(after, jnp.array([5, 6])), unit[jnp.array([2, 1])], atol=1e-6
    )


@pytest.mark.parametrize('where', [PartitionSpec(), PartitionSpec('data')])
def test_write_is_the_same_on_four_devices(key, where):
    rows = bank.init(key, 40, 4)
    index = jax.random.randint(jax.random.key(1), (16,), 0, 8)
    features = jax.random.normal(jax.random.key(2), (16, 4))
    mesh = jax.make_mesh((4,), ('data',), axis_types=(AxisType.Auto,))
    sharded = NamedSharding(mesh, PartitionSpec('data'))
    after = jax.jit(bank.write)(
        jax.device_put(rows, NamedSharding(mesh, where)),
        jax.device_put(index, sharded),
        jax.device_put(features, sharded),
    )
    np.testing.assert_allclose(after, loop(rows, index, features, 0.5), atol=1e-6)


def test_no_gradient_flows_into_the_bank(key):
    rows = bank.init(key, 5, 4)
    gradient = jax.grad(lambda f: jnp.sum(bank.write(rows, jnp.array([1]), f)))(rows[:1] + 1)
    np.testing.assert_array_equal(gradient, 0)


def test_half_precision_features_and_banks_stay_what_they_are(key):
    rows = bank.init(key, 5, 4)
    features = jnp.ones((1, 4), jnp.bfloat16)
    assert bank.write(rows, jnp.array([1]), features).dtype == jnp.float32
    half = bank.write(rows.astype(jnp.bfloat16), jnp.array([1]), features)
    assert half.dtype == jnp.bfloat16


def test_bad_input_is_a_value_error(key):
    rows = bank.init(key, 5, 4)
    with pytest.raises(ValueError, match='features'):
        bank.write(rows, jnp.array([1, 2]), rows[:1])
    with pytest.raises(ValueError, match='momentum'):
        bank.write(rows, jnp.array([1]), rows[:1], momentum=1.0)


def test_devices_exchange_the_rows_that_are_written_and_not_the_bank():
    mesh = sharding.data_mesh(4)
    rows, whole = sharding.batch_sharding(mesh), sharding.replicated(mesh)
    with jax.set_mesh(mesh):
        write = jax.jit(bank.write, in_shardings=(whole, rows, rows), out_shardings=whole)
        text = write.lower(
            jax.ShapeDtypeStruct((1000, 5), 'float32'),
            jax.ShapeDtypeStruct((8,), 'int32'),
            jax.ShapeDtypeStruct((8, 5), 'float32'),
        ).compile().as_text()  # fmt: skip
    exchanged = [line for line in text.splitlines() if re.search(r'= .*all-\w+\(', line)]
    assert exchanged
    assert not any(re.search(r'\b100[01]\b', line) for line in exchanged)
