"""Ways to sort inside the sliced Wasserstein distance, compiled and compared."""

import importlib
from unittest import mock

import jax
import jax.numpy as jnp

from contrastive_jax import sharding

# By this way, because in its package the module's name is that of the function.
library = importlib.import_module('contrastive_jax.losses.sliced_wasserstein')


def forms():
    """The sorts by name, each [p, m] -> [p, m] with a gradient; 'second sort' is the library's."""

    def rank_of(values):
        """Entries that are smaller, or equal and further to the left."""
        this, other = values[:, :, None], values[:, None, :]
        place = jnp.arange(values.shape[1])
        left = place[None, None, :] < place[None, :, None]
        return jnp.sum((other < this) | ((other == this) & left), axis=2, dtype=jnp.int32)

    def to_ranks(ranks, values):
        place = jnp.arange(values.shape[1])
        return jnp.sum(
            jnp.where(ranks[:, None, :] == place[None, :, None], values[:, None], 0.0), 2
        )

    def from_ranks(ranks, gradient):
        place = jnp.arange(gradient.shape[1])
        there = ranks[:, :, None] == place[None, None, :]
        return jnp.sum(jnp.where(there, gradient[:, None], 0.0), 2)

    def with_gradient(alone, forward, backward):
        """A sort by functions of values to sorted, to (sorted, order), and of (order, gradient)."""
        sort = jax.custom_vjp(lambda values: alone(values))
        sort.defvjp(forward, lambda order, gradient: (backward(order, gradient),))
        return sort

    def by_ranks(values):
        ranks = rank_of(values)
        return to_ranks(ranks, values), ranks

    return {
        'plain': lambda values: jnp.sort(values, axis=1),
        'scatter': with_gradient(
            library.sort_rows, library._sort_with_order, library._unsort_by_scatter
        ),
        'second sort': library.sort_rows,
        'rank with tie-breaking': with_gradient(
            lambda values: by_ranks(values)[0], by_ranks, from_ranks
        ),
    }


def compile_form(form, mesh, rows, dimensions):
    """(seconds by the compiler's estimate, bytes of temporaries of a device) of one form."""
    split, whole = sharding.batch_sharding(mesh), sharding.replicated(mesh)
    samples = jax.ShapeDtypeStruct((rows, dimensions), jnp.float32, sharding=split)
    projections = jax.ShapeDtypeStruct((dimensions, dimensions), jnp.float32, sharding=whole)
    distance = jax.jit(
        jax.value_and_grad(lambda *arrays: library.sliced_wasserstein(*arrays)),
        out_shardings=(whole, split),
    )
    with jax.set_mesh(mesh), mock.patch.object(library, 'sort_rows', form):
        program = distance.lower(samples, samples, projections).compile()
    seconds = program.cost_analysis().get('optimal_seconds', 0.0)
    return seconds, program.memory_analysis().temp_size_in_bytes


def table(results, first='second sort'):
    """A Markdown table.

    Args:
      results: {topology: {form: (seconds, bytes)}}.
      first: the form that ratios are to.
    """
    header = ['sort', *(f'{each}: {what}' for each in results for what in ('estimate', 'memory'))]
    rows = [header, ['---'] * len(header)]
    for name in next(iter(results.values())):
        cells = [name]
        for of in results.values():
            (seconds, size), (least, base) = of[name], of[first]
            # Of large programs the compiler's estimate can be negative: it is none then.
            known = seconds > 0 and least > 0
            cells.append(
                f'{1e6 * seconds:.0f} µs, x {seconds / least:.2f}' if known else 'no estimate'
            )
            ratio = f', x {size / base:.2f}' if base else ''
            cells.append(f'{size / 2**20:.2f} MiB{ratio}')
        rows.append(cells)
    return '\n'.join('| ' + ' | '.join(row) + ' |' for row in rows)
