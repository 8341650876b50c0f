"""Losses on arrays whose mesh puts the sharding into their type."""

import functools

import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec


def any_mesh(loss):
    """The loss, for arrays on a mesh of any axis types.

    On Explicit axes, which `jax.make_mesh` makes by default, the product of a batch with itself is
    a type error. There the loss runs with those axes turned to Auto; elsewhere nothing changes.

    Args:
      loss: function of arrays and keyword options to scalars.

    Returns:
      A function of the same signature; its results are replicated.
    """

    @functools.wraps(loss)
    def on_any_mesh(*arrays, **options):
        everything = jax.tree.leaves((arrays, options))
        meshes = [jax.typeof(x).sharding.mesh for x in everything if isinstance(x, jax.Array)]
        for mesh in meshes:
            axes = tuple(
                name
                for name, kind in zip(mesh.axis_names, mesh.axis_types, strict=True)
                if kind == AxisType.Explicit
            )
            if axes:
                traced = {k: x for k, x in options.items() if isinstance(x, jax.Array)}
                static = {k: x for k, x in options.items() if k not in traced}
                automatic = jax.sharding.auto_axes(
                    lambda arrays, traced: loss(*arrays, **traced, **static),  # noqa: B023
                    axes=axes,
                    out_sharding=NamedSharding(mesh, PartitionSpec()),
                )
                return automatic(arrays, traced)
        return loss(*arrays, **options)

    return on_any_mesh
