"""Devices: one mesh with one `data` axis; batches are split over it, all else is replicated."""

import math

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from contrastive_jax.errors import BadInput

AXIS = 'data'


def data_mesh(num_devices=None):
    """A mesh of all devices, or of the first `num_devices`, along the one axis `data`.

    Those of one process lie beside each other: the shares of a batch lie in the order of processes.
    The axis type is Auto: under the Explicit axes that are today's default, `z1 @ z2.T` of a
    sharded batch is a type error.
    """
    devices = sorted(jax.devices(), key=lambda device: device.process_index)
    return Mesh(np.asarray(devices[:num_devices]), (AXIS,), axis_types=(AxisType.Auto,))


def batch_sharding(mesh):
    """Rows split over the devices."""
    return NamedSharding(mesh, PartitionSpec(AXIS))


def replicated(mesh):
    """The whole array on every device."""
    return NamedSharding(mesh, PartitionSpec())


def automatic_axes():
    """Names of the Auto axes of the mesh in context, () where they span one device or none."""
    mesh = jax.sharding.get_abstract_mesh()
    axes = tuple(
        name
        for name, kind in zip(mesh.axis_names, mesh.axis_types, strict=True)
        if kind == AxisType.Auto
    )
    return axes if math.prod(mesh.shape[name] for name in axes) > 1 else ()


def check_batch(batch_size, mesh, field='batch_size'):
    """Raises BadInput unless the devices divide the batch evenly."""
    devices = mesh.size
    if batch_size < 1 or batch_size % devices:
        below = max(batch_size // devices, 1) * devices
        raise BadInput(
            f'config.{field} is {batch_size}, which {devices} devices do not divide; '
            f'the nearest valid sizes are {below} and {below + devices}.'
        )


def to_devices(batch, mesh):
    """A dict of this host's rows as a dict of global arrays, split over the devices."""
    rows = batch_sharding(mesh)
    return {
        name: jax.make_array_from_process_local_data(rows, array) for name, array in batch.items()
    }


def from_all_hosts(rows, mesh):
    """The rows of one host, a dict of NumPy arrays, as those of all in their order, on each."""
    if jax.process_count() == 1:
        return rows
    whole = jax.jit(_unchanged, out_shardings=replicated(mesh))
    return jax.device_get(whole(to_devices(rows, mesh)))


def _unchanged(tree):
    return tree
