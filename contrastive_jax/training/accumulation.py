"""Exact gradients of a loss over a whole batch, in the memory of a part of it.

A contrastive loss does not split over examples: the mean of the gradients of micro-batches is that
of another loss, with fewer negatives. But it depends on the parameters only through the embeddings,
which are small. So all are computed first, micro-batch by micro-batch and without a gradient; the
loss of all is differentiated with respect to them; then each micro-batch is embedded once more and
its share of that gradient is taken back to the parameters. The cost is one more forward pass.

The embedding of an image must not depend on the others of its batch: with batch norm, the
statistics of a micro-batch would take the place of those of the batch.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec

from contrastive_jax.errors import BadInput
from contrastive_jax.sharding import automatic_axes

__all__ = ['value_and_gradient']


def value_and_gradient(apply, params, images, loss, num_micro_batches):
    """The value and gradient of loss(apply(params, images)), with one micro-batch in memory.

      dL/dw = sum over micro-batches m of (dz_m/dw)^T dL/dz_m

    Where the mesh in context has several devices, each takes its own rows in micro-batches, and
    gradients are summed over the devices once, at the end.

    Args:
      apply: (params, images [m, ...]) -> z [m, d], each row a function of its image alone.
      params: a tree of arrays.
      images: [n, ...], n divisible by devices times `num_micro_batches`.
      loss: (z [n, d]) -> (scalar, parts).
      num_micro_batches: at least 1.

    Returns:
      ((value, parts), gradient): of the whole batch; the gradient is a tree like `params`.

    Raises:
      ValueError: while tracing, rows that the micro-batches do not divide.

    Source: Gao et al. 2021, Scaling deep contrastive learning batch size under memory limited
      setup (gradient caching).
    """
    axes = automatic_axes()

    def split(rows):
        if rows.shape[0] % num_micro_batches:
            raise ValueError(
                f'{num_micro_batches} micro-batches do not divide the {rows.shape[0]} rows of a '
                'device.'
            )
        return rows.reshape(num_micro_batches, -1, *rows.shape[1:])

    def embed(params, images):
        z = lax.map(functools.partial(apply, params), split(images))
        return z.reshape(-1, *z.shape[2:])

    def pull_back(params, images, z_gradient):
        def add(total, micro_batch):
            rows, rows_gradient = micro_batch
            pull = jax.vjp(lambda own: apply(own, rows), params)[1]
            return jax.tree.map(jnp.add, total, pull(rows_gradient)[0]), None

        zeros = jax.tree.map(jnp.zeros_like, params)
        gradient, _ = lax.scan(add, zeros, (split(images), split(z_gradient)))
        return lax.psum(gradient, axes) if axes else gradient

    if axes:
        whole, rows = PartitionSpec(), PartitionSpec(axes)
        # Unchecked: with the check, each micro-batch would sum its gradient over the devices.
        over_devices = functools.partial(jax.shard_map, axis_names=set(axes), check_vma=False)
        embed = over_devices(embed, in_specs=(whole, rows), out_specs=rows)
        pull_back = over_devices(pull_back, in_specs=(whole, rows, rows), out_specs=whole)

    value_and_parts, z_gradient = jax.value_and_grad(loss, has_aux=True)(embed(params, images))
    return value_and_parts, pull_back(params, images, z_gradient)


def check_micro_batches(num_micro_batches, batch_size, num_devices):
    """Raises BadInput unless every device can take its pairs in that many micro-batches.

    Args:
      num_micro_batches: what config.optimizer.accumulate says.
      batch_size: pairs in a step, over all devices.
      num_devices: that share a batch, and divide it.
    """
    most = batch_size // num_devices
    if type(num_micro_batches) is not int or num_micro_batches < 1 or most % num_micro_batches:
        valid = ', '.join(str(k) for k in range(1, most + 1) if most % k == 0)
        raise BadInput(
            f'config.optimizer.accumulate is {num_micro_batches!r}; it must divide the pairs of a '
            f'device, {batch_size} / {num_devices} = {most}, so that it is one of: {valid}.'
        )


def check_model(num_micro_batches, batch_stats):
    """Raises BadInput if a model has batch norm: it would be another model in micro-batches."""
    if num_micro_batches > 1 and jax.tree.leaves(batch_stats):
        raise BadInput(
            f'config.optimizer.accumulate is {num_micro_batches}, but the model has batch norm, '
            'whose statistics are those of the whole batch, not of a micro-batch; it must be 1, or '
            'the model one without batch norm.'
        )
