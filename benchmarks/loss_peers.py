"""Losses of other libraries as calls of value and gradient; a peer is imported where it is used."""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.plain_losses import TEMPERATURE
from contrastive_jax.losses import similarities


def compiled(function, arrays, gradients):
    """Call that runs value and gradient and waits, and the planned temporary bytes."""
    step = jax.jit(jax.value_and_grad(function, tuple(range(gradients))))
    program = step.lower(*arrays).compile()
    temporaries = program.memory_analysis().temp_size_in_bytes
    return lambda: jax.block_until_ready(program(*arrays)), temporaries


def _torch(function, arrays):
    """As `compiled` for PyTorch, which plans no memory ahead."""
    import torch

    tensors = [torch.tensor(np.asarray(array), requires_grad=True) for array in arrays]

    def call():
        loss = function(*tensors)
        torch.autograd.grad(loss, tensors)
        return loss

    return call, None


def optax_nt_xent(arrays):
    """Optax: labels in place of pairs; compiled like ours."""
    import optax

    def function(z1, z2):
        labels = jnp.tile(jnp.arange(len(z1)), 2)
        return optax.losses.ntxent(jnp.concatenate([z1, z2]), labels, temperature=TEMPERATURE)

    return compiled(function, arrays, 2)


def lightly_nt_xent(arrays):
    """Lightly's NTXentLoss in PyTorch, forward and backward."""
    from lightly.loss import NTXentLoss

    return _torch(NTXentLoss(temperature=TEMPERATURE), arrays)


def metric_learning_nt_xent(arrays):
    """pytorch-metric-learning's NTXentLoss, forward and backward."""
    import torch
    from pytorch_metric_learning.losses import NTXentLoss

    loss = NTXentLoss(temperature=TEMPERATURE)
    labels = torch.arange(len(arrays[0])).repeat(2)
    return _torch(lambda z1, z2: loss(torch.cat([z1, z2]), labels), arrays)


def ott_sliced_wasserstein(arrays):
    """OTT's sliced Wasserstein distance, given our directions."""
    from ott.tools import sliced

    def function(samples, prior_samples, projections):
        def project(rows):
            return jnp.matmul(rows, projections, precision=similarities.PRECISION)

        return sliced.sliced_wasserstein(samples, prior_samples, proj_fn=project)[0]

    return compiled(function, arrays, 1)


def pot_sliced_wasserstein(arrays):
    """POT's sliced Wasserstein distance in PyTorch, squared, given our directions."""
    import ot
    import torch

    projections = torch.tensor(np.asarray(arrays[2]))

    def function(samples, prior_samples):
        distance = ot.sliced_wasserstein_distance(samples, prior_samples, projections=projections)
        return distance**2

    return _torch(function, arrays[:2])


PEERS = {
    'optax': optax_nt_xent,
    'lightly': lightly_nt_xent,
    'pytorch-metric-learning': metric_learning_nt_xent,
    'ott-jax': ott_sliced_wasserstein,
    'pot': pot_sliced_wasserstein,
}
