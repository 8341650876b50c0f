"""Rows in blocks of one size, and rows split over devices."""

import math

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec


def padded(array, count):
    """[n, ...] as [count, ...], zeros behind."""
    return jnp.pad(array, [(0, count - array.shape[0])] + [(0, 0)] * (array.ndim - 1))


def in_blocks(array, block):
    """[n, ...] as [ceil(n / block), block, ...], zeros behind."""
    count = math.ceil(array.shape[0] / block)
    return padded(array, count * block).reshape(count, block, *array.shape[1:])


def over_devices(function, axes, rows, columns, *row_arrays, whole_columns=False):
    """`function(rows, all columns, number of the first row, *row_arrays)` of each device's rows.

    Args:
      function: to a pytree of arrays with one entry a row of the device, or one a device.
      axes: names of the mesh's axes that the rows are split over.
      rows: [n, d]; n need not divide by the devices, the last ones get zero rows.
      columns: [m, d], gathered once; `rows` itself for the rows against themselves.
      *row_arrays: [n, ...], split like the rows.
      whole_columns: whether the columns lie whole on every device, as a queue does: not gathered.

    Returns:
      The pytree of all devices, at most n entries an array: a device behind has no row.
    """
    mesh = jax.sharding.get_abstract_mesh()
    devices = math.prod(mesh.shape[name] for name in axes)
    count, symmetric = rows.shape[0], columns is rows

    def local(rows, columns, *row_arrays):
        everyone = columns
        if not whole_columns:
            everyone = lax.all_gather(rows if symmetric else columns, axes, axis=0, tiled=True)
        first_row = lax.axis_index(axes) * rows.shape[0]
        return function(rows, everyone, first_row, *row_arrays)

    def pad(array):
        return padded(array, math.ceil(array.shape[0] / devices) * devices)

    split = PartitionSpec(axes)
    of_columns = PartitionSpec() if whole_columns else split
    specs = (split, of_columns, *[split] * len(row_arrays))
    columns = columns if whole_columns else pad(columns)
    # Nothing leaves replicated, so there is nothing for check_vma to check.
    outputs = jax.shard_map(
        local, in_specs=specs, out_specs=split, axis_names=set(axes), check_vma=False
    )(pad(rows), columns, *map(pad, row_arrays))
    return jax.tree.map(lambda array: array[:count], outputs)
