"""The train state: a plain tree of everything that a step changes."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from contrastive_jax import sharding
from contrastive_jax.randomness import Role, key_for
from contrastive_jax.training import beside
from contrastive_jax.training.objectives import PAIRS


class TrainState(NamedTuple):
    """What a step reads and replaces; what a checkpoint holds.

    Attributes:
      step: number of steps done, int32; also the position in the data.
      params: the model's parameters.
      batch_stats: the batch norm's moving averages; an empty dict without batch norm.
      opt_state: the optimizer's.
      beside: `params` and `batch_stats` of the modules that are trained beside the encoder, by
        name; empty where there are none, as the two below.
      target: the parameters of the momentum encoder.
      memory: banks, queue and clusters.
    """

    step: jax.Array
    params: Any
    batch_stats: Any
    opt_state: Any
    beside: Any = {}
    target: Any = {}
    memory: Any = {}

    @property
    def variables(self):
        """The model's variables as Linen's `apply` takes them."""
        return {'params': self.params, 'batch_stats': self.batch_stats}

    @property
    def trained(self):
        """All parameters that the optimizer moves: the model's, or a dict with those beside."""
        return {'encoder': self.params, **self.beside['params']} if self.beside else self.params

    def with_trained(self, trained):
        """The state with other values of what `trained` gives."""
        if not self.beside:
            return self._replace(params=trained)
        others = {name: params for name, params in trained.items() if name != 'encoder'}
        return self._replace(params=trained['encoder'], beside={**self.beside, 'params': others})


def init_state(model, optimizer, image_shape, seed, objective=PAIRS):
    """The state before step 0.

    Args:
      model: a Linen module of (images, train).
      optimizer: an optax transformation.
      image_shape: (h, w, c) of what the model sees, appended channels included.
      seed: an integer, or a key made from it.
      objective: an `objectives.Objective`.

    Returns:
      A `TrainState`; the same on every host. A momentum encoder starts as the encoder.
    """
    key = key_for(seed, Role.PARAMETERS)
    variables = model.init(key, jnp.zeros((1, *image_shape)), train=False)
    params = variables['params']
    state = TrainState(
        step=jnp.zeros((), jnp.int32),
        params=params,
        batch_stats=variables.get('batch_stats', {}),
        opt_state=None,
        beside=beside.init(objective.beside, key_for(seed, Role.BESIDE)),
        # A copy: a buffer that stands in the state twice could not be donated.
        target=jax.tree.map(jnp.copy, params) if objective.momentum else {},
        memory=objective.init_memory(key_for(seed, Role.MEMORY)),
    )
    return state._replace(opt_state=optimizer.init(state.trained))


def state_shapes(experiment):
    """The shapes, types and shardings of an experiment's state, without making one."""
    whole = sharding.replicated(experiment.mesh)
    return jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=whole),
        jax.eval_shape(experiment.init_state, experiment.seed_key),
    )
