"""What is trained beside the encoder: a predictor, classifier, decoder, temperature or probe."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from contrastive_jax.models.heads import ProjectionHead
from contrastive_jax.models.loss_parameters import LearnedTemperature
from contrastive_jax.training import optimizers
from contrastive_jax.training.fields import check_number
from contrastive_jax.training.objectives import ONLINE_PROBE


class Beside(NamedTuple):
    """A module that is trained beside the encoder.

    Attributes:
      module: a Linen module.
      reads: (h [n, f], z [n, d]) -> its arguments.
      shapes: (f, d) of what it reads.
      learning_rate: of its own, with Adam; None leaves it to the run's optimizer.
      draws: whether it takes a key behind what it reads.
    """

    module: Any
    reads: Callable
    shapes: tuple[int, int]
    learning_rate: float | None = None
    draws: bool = False


def predictor(features, dimensions, *, width, batch_norm):
    """BYOL's predictor, from z to q(z) of the same dimension, with one hidden layer.

    Args:
      features: dimension of h.
      dimensions: of z.
      width: of the hidden layer.
      batch_norm: whether one stands behind the hidden layer.
    """
    norm = functools.partial(nn.BatchNorm, momentum=0.9, epsilon=1e-5) if batch_norm else None
    head = ProjectionHead((width, dimensions), norm)
    return Beside(head, lambda h, z: (z, True), (features, dimensions))


def classifier(features, dimensions, *, num_classes):
    """A linear layer from h to logits; the arguments are those of `predictor`."""
    return Beside(nn.Dense(num_classes), lambda h, z: (h,), (features, dimensions))


def decoder(features, dimensions, *, module):
    """A `VariationalDecoder` of h in float32, in which a bound in nats is summed."""

    def reads(h, z):
        return (h.astype(jnp.float32),)

    return Beside(module, reads, (features, dimensions), draws=True)


def temperature(features, dimensions, *, initial, learning_rate=1e-3):
    """A learned temperature of each dimension that a loss compares.

    Args:
      features: dimension of h.
      dimensions: those that the loss compares.
      initial: temperatures at the start; see `LearnedTemperature`.
      learning_rate: of Adam, at any step; the default is the source's.
    """
    check_number('loss.temperature.learning_rate', learning_rate, above=0)
    module = LearnedTemperature(dimensions, initial)
    return Beside(module, lambda h, z: (), (features, dimensions), learning_rate)


def init(modules, key):
    """Their variables, {'params': {name: ...}, 'batch_stats': {name: ...}}; {} without any.

    Args:
      modules: dict of name to `Beside`.
      key: a random key.
    """
    if not modules:
        return {}
    made = {}
    # The probe comes last, so that the others start as they would without it.
    order = sorted(modules, key=lambda name: (name == ONLINE_PROBE, name))
    for number, name in enumerate(order):
        of, own_key = modules[name], jax.random.fold_in(key, number)
        rows = [jnp.zeros((1, size)) for size in of.shapes]
        made[name] = of.module.init(own_key, *arguments_of(of, *rows, own_key))
    return {
        kind: {name: variables.get(kind, {}) for name, variables in made.items()}
        for kind in ('params', 'batch_stats')
    }


def arguments_of(of, h, z, key):
    """What the module of a `Beside` is called with."""
    return (*of.reads(h, z), key) if of.draws else of.reads(h, z)


def apply(modules, variables, h, z, key):
    """What the modules make of a batch while training.

    Args:
      modules: dict of name to `Beside`.
      variables: of all of them, as `init` makes them.
      h: features [n, f].
      z: projections [n, d].
      key: for what the modules draw.

    Returns:
      (outputs, batch_stats), dicts of name to output and to new batch statistics.
    """
    outputs, updated = {}, {}
    for number, (name, of) in enumerate(modules.items()):
        own = {kind: variables[kind][name] for kind in variables}
        arguments = arguments_of(of, h, z, jax.random.fold_in(key, number))
        outputs[name], changed = of.module.apply(own, *arguments, mutable=['batch_stats'])
        updated[name] = changed.get('batch_stats', {})
    return outputs, updated


def felt(trained):
    """What the loss trains of `TrainState.trained`: all but the online probe."""
    if not (isinstance(trained, dict) and ONLINE_PROBE in trained):
        return trained
    return {name: tree for name, tree in trained.items() if name != ONLINE_PROBE}


def with_own_rates(optimizer, modules):
    """The optimizer, but Adam of its own rate for each module that has one."""
    rates = {name: of.learning_rate for name, of in modules.items() if of.learning_rate}
    if not rates:
        return optimizer
    own = {name: optax.adam(rate) for name, rate in rates.items()}
    labels = {name: name if name in rates else 'encoder' for name in ('encoder', *modules)}
    return optimizers.lenient(optax.multi_transform({'encoder': optimizer, **own}, labels))
