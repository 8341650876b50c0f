"""One step down: the gradient of a loss, of a whole batch or in micro-batches, and the update."""

from typing import Any, NamedTuple

import jax
import optax

from contrastive_jax.training import accumulation
from contrastive_jax.training import beside as modules_beside
from contrastive_jax.training.objectives import ONLINE_PROBE


class Found(NamedTuple):
    """What a step finds at the parameters it starts from.

    Attributes:
      value: the loss.
      parts: what is logged beside it.
      z: projections by example [n, s, d].
      gradient: a tree like `TrainState.trained`.
      batch_stats: those of the encoder after the batch.
      stats_beside: those of the modules beside it.
    """

    value: Any
    parts: Any
    z: Any
    gradient: Any
    batch_stats: Any
    stats_beside: Any = {}


def whole_gradient(objective, state, seen, images, embed, loss_of):
    """What a step finds of a batch that goes through the network at once.

    Args:
      objective: an `Objective`.
      state: the `TrainState`.
      seen: what is known of the batch.
      images: of the sides that the encoder sees [s n, ...].
      embed: (params, images) -> ((h, z), batch statistics).
      loss_of: (z, outputs of the modules beside) -> (loss, (parts, z by example)).

    Returns:
      A `Found`.
    """

    def value_of(trained):
        at = state.with_trained(trained)
        (h, z), batch_stats = embed(at.params, images)
        outputs, stats_beside = modules_beside.apply(
            objective.beside, at.beside, h, z, seen.key_beside
        )
        value, (parts, z) = loss_of(z, outputs)
        descended = value
        if objective.probe:
            examples = seen.examples[objective.sides]
            online, online_parts = objective.probe.loss(outputs[ONLINE_PROBE], examples)
            descended, parts = value + online, {**parts, **online_parts}
        return descended, (value, parts, z, batch_stats, stats_beside)

    gradient_of = jax.value_and_grad(value_of, has_aux=True)
    (_, (value, parts, z, *stats)), gradient = gradient_of(state.trained)
    return Found(value, parts, z, gradient, *stats)


def accumulated_gradient(num_micro_batches, state, images, embed, loss_of):
    """As `whole_gradient`, in micro-batches, of an encoder alone and without batch norm."""
    accumulation.check_model(num_micro_batches, state.batch_stats)
    (value, (parts, z)), gradient = accumulation.value_and_gradient(
        lambda *given: embed(*given)[0][1], state.params, images, loss_of, num_micro_batches
    )
    return Found(value, parts, z, gradient, state.batch_stats)


def moved(state, optimizer, found):
    """The state with what the optimizer makes of a `Found`, and the metrics of the step."""
    before = state.trained
    updates, opt_state = optimizer.update(
        found.gradient, state.opt_state, before, value=found.value
    )
    params = optax.apply_updates(before, updates)
    metrics = {
        **found.parts,
        'loss': found.value,
        'gradient_norm': optax.tree.norm(modules_beside.felt(found.gradient)),
        # Of the parameters that this step made: finite as long as the run may go on.
        'parameter_norm': optax.tree.norm(modules_beside.felt(params)),
    }
    after = state.with_trained(params)
    after = after._replace(batch_stats=found.batch_stats, opt_state=opt_state)
    if state.beside:
        after = after._replace(beside={**after.beside, 'batch_stats': found.stats_beside})
    return after, metrics
