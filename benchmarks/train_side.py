"""Parts of a training run as functions without arguments, to be timed."""

import jax
import jax.numpy as jnp
import optax

from contrastive_jax import sharding
from contrastive_jax.data import batches
from contrastive_jax.training import optimizers, step
from contrastive_jax.training.state import TrainState


class Spectator:
    """A network that returns the images it is given as its batch statistics."""

    def apply(self, variables, images, train, mutable):
        """Images [2 n, h, w, c] to what a Linen module returns; z [2 n, 1] counts for nothing."""
        del train, mutable
        z = jnp.broadcast_to(variables['params'], (len(images), 1))
        return (None, z), {'batch_stats': images}


def view_maker(dataset, view, examples, calls=1):
    """A function that composes `examples` examples and makes their two views, `calls` times.

    It is the train step with next to no network, so that nothing is done in another way than there.
    """
    train_step = step.make_train_step(
        dataset=dataset,
        view=view,
        model=Spectator(),
        loss=lambda z1, z2, key: (jnp.sum(z1 + z2), {}),
        optimizer=optimizers.lenient(optax.identity()),
    )
    batch = jax.tree.map(jnp.asarray, dataset.source.take(list(range(examples))))
    tables = jax.tree.map(jnp.asarray, dict(dataset.tables))
    start = TrainState(jnp.int32(0), jnp.float32(1), (), optax.EmptyState())
    given = start, batch, tables, jax.random.key(0)
    compiled = jax.jit(train_step).lower(*given).compile()

    def make():
        for _ in range(calls):
            made = compiled(*given)
        jax.block_until_ready(made)

    return make


def trainer(experiment, steps):
    """A function that trains `steps` steps of an `Experiment`, data loading included."""
    mesh, seed_key = experiment.mesh, experiment.seed_key
    whole = sharding.replicated(mesh)
    tables = jax.device_put(experiment.train_tables, whole)
    feed = batches.iterate(experiment.train_orders(), 0)
    jitted = step.jit_train_step(experiment)
    with jax.set_mesh(mesh):
        at = {'state': jax.jit(experiment.init_state, out_shardings=whole)(seed_key)}
        first = sharding.to_devices(next(feed), mesh)
        compiled = jitted.lower(at['state'], first, tables, seed_key).compile()

    def train():
        for _ in range(steps):
            batch = sharding.to_devices(next(feed), mesh)
            at['state'], metrics = compiled(at['state'], batch, tables, seed_key)
        jax.block_until_ready((at['state'], metrics))

    return train
