"""Losses on Explicit meshes, where the sharding is part of an array's type."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from contrastive_jax import losses
from contrastive_jax.identities import inputs

ARRAYS = inputs.arrays_by_name()
SLICED = {'prior': 'normal', 'distribution': 'sliced_wasserstein', 'weight': 1.0}


def explicit_mesh(*sizes):
    return jax.make_mesh(sizes, ('data', 'model')[: len(sizes)], (AxisType.Explicit,) * len(sizes))


def on(mesh, name, *axes):
    return jax.device_put(ARRAYS[name], NamedSharding(mesh, PartitionSpec(*axes)))


def assert_close(found, expected):
    for mine, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-6, atol=2e-7)


def test_without_it_a_loss_of_a_sharded_batch_is_a_type_error():
    z1, z2 = (on(explicit_mesh(4), name, 'data') for name in ('z1', 'z2'))
    with pytest.raises(Exception, match='shard'):
        losses.nt_xent.__wrapped__(z1, z2, temperature=0.2)


# Operation by operation and with no mesh in context JAX cannot take any gradient here.
@pytest.mark.parametrize(('compiled', 'in_context'), [(True, False), (True, True), (False, True)])
def test_typed_random_key_among_the_options(key, compiled, in_context):
    def loss(z1, z2, key):
        return losses.generalized_contrastive(z1, z2, key=key, **SLICED)[0]

    value_and_gradient = jax.value_and_grad(loss, (0, 1))
    expected = value_and_gradient(ARRAYS['z1'], ARRAYS['z2'], key)
    mesh = explicit_mesh(4)
    step = jax.jit(value_and_gradient) if compiled else value_and_gradient
    with jax.set_mesh(mesh) if in_context else contextlib.nullcontext():
        for placed in (key, jax.device_put(key, NamedSharding(mesh, PartitionSpec()))):
            found = step(on(mesh, 'z1', 'data'), on(mesh, 'z2', 'data'), placed)
            assert_close(found, expected)


@pytest.mark.slow
def test_two_axes_of_which_one_splits_the_rows_and_one_the_dimensions():
    expected = losses.nt_xent(ARRAYS['z1'], ARRAYS['z2'], temperature=0.2)
    mesh = explicit_mesh(2, 2)
    for axes in (('data',), ('data', 'model'), (('data', 'model'),)):
        z1, z2 = on(mesh, 'z1', *axes), on(mesh, 'z2', *axes)
        assert_close(losses.nt_xent(z1, z2, temperature=0.2), expected)


def test_options_that_hold_arrays_and_a_bank_split_over_the_devices():
    def loss(array):
        return losses.contrastive_multiview_coding(
            *(array(name) for name in ('anchors1', 'anchors2', 'bank1', 'bank2', 'index')),
            temperature=jnp.linspace(0.1, 0.4, 16, dtype=jnp.float32),
            backgrounds=(array('background'), array('close')),
        )

    mesh = explicit_mesh(4)
    found = loss(lambda name: on(mesh, name, 'data'))
    assert_close(found, loss(lambda name: jnp.asarray(ARRAYS[name])))
