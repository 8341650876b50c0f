"""Losses on arrays whose mesh puts the sharding into their type."""

import functools

import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec


def any_mesh(loss):
    """The loss, for arrays on a mesh of any axis types.

    On Explicit axes, which `jax.make_mesh` makes by default, the product of a batch with itself is
    a type error. There the loss runs with those axes turned to Auto; elsewhere nothing changes.
    (Outside of jit and of any mesh context JAX takes no gradient on such arrays, of whatever.)

    Args:
      loss: function of arrays and keyword options to scalars. Options may be arrays, or hold some.

    Returns:
      A function of the same signature; its results are replicated.
    """

    @functools.wraps(loss)
    def on_any_mesh(*arrays, **options):
        leaves, structure = jax.tree.flatten((arrays, options))
        placed = {i: leaf for i, leaf in enumerate(leaves) if isinstance(leaf, jax.Array)}

        def with_arrays(placed):
            everything = [placed.get(i, leaf) for i, leaf in enumerate(leaves)]
            arrays, options = jax.tree.unflatten(structure, everything)
            return loss(*arrays, **options)

        for array in placed.values():
            mesh = jax.typeof(array).sharding.mesh
            axes = tuple(
                name
                for name, kind in zip(mesh.axis_names, mesh.axis_types, strict=True)
                if kind == AxisType.Explicit
            )
            if axes:
                replicated = NamedSharding(mesh, PartitionSpec())
                automatic = jax.sharding.auto_axes(with_arrays, axes=axes, out_sharding=replicated)
                return automatic(placed)
        return loss(*arrays, **options)

    return on_any_mesh
