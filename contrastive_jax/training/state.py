"""The train state: a plain tree of everything that a step changes."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from contrastive_jax import sharding
from contrastive_jax.randomness import Role, key_for


class TrainState(NamedTuple):
    """What a step reads and replaces; what a checkpoint holds.

    Attributes:
      step: number of steps done, int32; also the position in the data.
      params: the model's parameters.
      batch_stats: the batch norm's moving averages; an empty dict without batch norm.
      opt_state: the optimizer's.
    """

    step: jax.Array
    params: Any
    batch_stats: Any
    opt_state: Any

    @property
    def variables(self):
        """The model's variables as Linen's `apply` takes them."""
        return {'params': self.params, 'batch_stats': self.batch_stats}


def init_state(model, optimizer, image_shape, seed):
    """The state before step 0.

    Args:
      model: a Linen module of (images, train).
      optimizer: an optax transformation.
      image_shape: (h, w, c) of what the model sees, appended channels included.
      seed: an integer, or a key made from it.

    Returns:
      A `TrainState`; the same on every host.
    """
    key = key_for(seed, Role.PARAMETERS)
    variables = model.init(key, jnp.zeros((1, *image_shape)), train=False)
    params = variables['params']
    return TrainState(
        step=jnp.zeros((), jnp.int32),
        params=params,
        batch_stats=variables.get('batch_stats', {}),
        opt_state=optimizer.init(params),
    )


def state_shapes(experiment):
    """The shapes, types and shardings of an experiment's state, without making one."""
    whole = sharding.replicated(experiment.mesh)
    return jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=whole),
        jax.eval_shape(experiment.init_state, experiment.seed_key),
    )
