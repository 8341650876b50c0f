"""Meshes and batches on the four simulated devices."""

import jax
import numpy as np
import pytest

from contrastive_jax import sharding
from contrastive_jax.errors import BadInput


def test_mesh_has_auto_axes_so_that_a_sharded_similarity_matrix_has_a_type():
    mesh = sharding.data_mesh()
    assert mesh.size == 4
    rows = jax.device_put(np.ones((8, 3), np.float32), sharding.batch_sharding(mesh))
    with jax.set_mesh(mesh):
        product = jax.jit(lambda z: z @ z.T)(rows)
    np.testing.assert_array_equal(product, 3 * np.ones((8, 8)))


def test_to_devices_splits_rows_in_order():
    mesh = sharding.data_mesh()
    batch = {'x': np.arange(24, dtype=np.float32).reshape(8, 3)}
    placed = sharding.to_devices(batch, mesh)['x']
    assert [shard.data.shape for shard in placed.addressable_shards] == [(2, 3)] * 4
    np.testing.assert_array_equal(placed, batch['x'])


@pytest.mark.parametrize('size', [0, 3, 6, 4095])
def test_a_batch_that_the_devices_do_not_divide_is_refused(size):
    with pytest.raises(BadInput, match=f'config.batch_size is {size}, which 4 devices'):
        sharding.check_batch(size, sharding.data_mesh())


def test_a_batch_that_divides_passes():
    sharding.check_batch(8, sharding.data_mesh())
    sharding.check_batch(7, sharding.data_mesh(1))
