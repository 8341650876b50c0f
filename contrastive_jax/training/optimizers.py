"""Optimizers with their learning rates: what `config.optimizer.name` may say.

Each takes, beside its own options, those of `schedules.learning_rate_schedule`. What the papers do
about weight decay, which `weight_decay_on` chooses:

  'all'            Wang 2021 and Wu 2020's toys: SGD as in PyTorch, every parameter.
  'no_batch_norm'  Wu 2020's public code; Chen 2021's code where it trains without LARS.
  'kernels'        Chen 2021 and Rusak 2022's images: LARS; the RandBit notebook, whose 1e-4 times
                   the sum of squares is a weight_decay of 2e-4 on Adam's gradient.
"""

import functools
import inspect

import jax
import optax

from contrastive_jax.training import schedules
from contrastive_jax.training.objectives import ONLINE_PROBE

__all__ = ['adam', 'adamw', 'lars', 'sgd']

WEIGHT_DECAY_ON = ('all', 'kernels', 'no_batch_norm')


def with_schedule(make):
    """An optimizer of (learning rate, options) with the options of the learning rate as well."""
    own = tuple(inspect.signature(make).parameters.values())[1:]
    shared = inspect.signature(schedules.learning_rate_schedule).parameters
    signature = inspect.Signature([*shared.values(), *own])

    @functools.wraps(make)
    def optimizer(**options):
        arguments = signature.bind(**options)
        arguments.apply_defaults()
        of_rate = {name: arguments.arguments.pop(name) for name in shared}
        made = make(schedules.learning_rate_schedule(**of_rate), **arguments.arguments)
        if of_rate['schedule'] == 'plateau':
            made = optax.chain(made, schedules.on_plateau(**of_rate))
        return lenient(made)

    optimizer.__signature__ = signature
    optimizer.__doc__ = (
        f'{make.__doc__}\n\n    The rate:\n\n    {schedules.learning_rate_schedule.__doc__}'
    )
    return optimizer


@with_schedule
def sgd(rate, *, momentum=0.9, nesterov=False, weight_decay=0.0, weight_decay_on='all'):
    """Stochastic gradient descent with momentum, as PyTorch has it.

      g <- g + weight_decay w;   v <- momentum v + g;   w <- w - rate (v | g + momentum v)

    Args:
      rate: (count) -> learning rate.
      momentum: in [0, 1).
      nesterov: whether to look ahead: the second form, which needs a momentum.
      weight_decay: at least 0.
      weight_decay_on: 'all', 'no_batch_norm' or 'kernels'.

    Returns:
      An optax transformation.

    Raises:
      BadInput: an option out of its range.

    Source: Wang 2021 and Wu 2020 train with momentum 0.9; Chen 2021's frozen probe with Nesterov.
    """
    schedules.choose('nesterov', nesterov, (False, True))
    schedules.check('momentum', momentum, least=None if nesterov else 0, below=1)
    plain = optax.sgd(rate, momentum=momentum, nesterov=nesterov)
    return after_decay(plain, weight_decay, weight_decay_on)


@with_schedule
def adam(rate, *, epsilon=1e-8, weight_decay=0.0, weight_decay_on='kernels'):
    """Adam; a weight decay is added to the gradient, as in PyTorch's.

    Args:
      rate: (count) -> learning rate.
      epsilon: positive, added to the root of the second moment.
      weight_decay: at least 0; times w, it is added to the gradient.
      weight_decay_on: 'all', 'no_batch_norm' or 'kernels'.

    Returns:
      An optax transformation.

    Raises:
      BadInput: an option out of its range.

    Source: Chen 2021's RandBit notebook (epsilon 1e-7); Rusak 2022's code.
    """
    schedules.check('epsilon', epsilon)
    return after_decay(optax.adam(rate, eps=epsilon), weight_decay, weight_decay_on)


@with_schedule
def adamw(rate, *, weight_decay, epsilon=1e-8, weight_decay_on='kernels'):
    """Adam with decoupled weight decay: rate times weight_decay times w leaves w at each step.

    Args:
      rate: (count) -> learning rate.
      weight_decay: at least 0.
      epsilon: positive, added to the root of the second moment.
      weight_decay_on: 'all', 'no_batch_norm' or 'kernels'.

    Returns:
      An optax transformation.

    Raises:
      BadInput: an option out of its range.

    Source: Loshchilov and Hutter 2019; none of the five papers uses it.
    """
    schedules.check('epsilon', epsilon)
    mask = decay_mask(weight_decay, weight_decay_on)
    return optax.adamw(rate, eps=epsilon, weight_decay=weight_decay, mask=mask)


@with_schedule
def lars(rate, *, weight_decay, momentum=0.9, trust_coefficient=1e-3):
    """Layer-wise adaptive rates, one norm a tensor, the rate inside the momentum.

      g <- g + weight_decay w;   v <- momentum v + rate trust_coefficient |w| / |g| g;   w <- w - v

    where the ratio is 1 if a norm is 0. Biases and the scales and offsets of batch norm, and what
    else has less than two axes, have neither decay nor ratio: momentum alone, at the full rate.

    Args:
      rate: (count) -> learning rate.
      weight_decay: at least 0: 1e-4 in both of SimCLR's READMEs, 1e-6 is its TF2 flag's default.
      momentum: in [0, 1).
      trust_coefficient: positive.

    Returns:
      An optax transformation.

    Raises:
      BadInput: an option out of its range.

    Source: Chen 2021 (A.1 and the official code); You et al. 2017.
    """
    schedules.check('momentum', momentum, least=0, below=1)
    schedules.check('trust_coefficient', trust_coefficient)
    mask = decay_mask(weight_decay, 'kernels')
    return optax.lars(
        rate,
        weight_decay=weight_decay,
        weight_decay_mask=mask,
        trust_coefficient=trust_coefficient,
        trust_ratio_mask=mask,
        momentum=momentum,
    )


def after_decay(optimizer, weight_decay, weight_decay_on):
    """The optimizer of a gradient to which weight_decay times w was added."""
    mask = decay_mask(weight_decay, weight_decay_on)
    if not weight_decay:
        return optimizer
    return optax.chain(optax.add_decayed_weights(weight_decay, mask), optimizer)


def decay_mask(weight_decay, weight_decay_on):
    """(params) -> tree of bools: which parameters `weight_decay_on` names.

    By Flax's names: a kernel is what is not called bias or scale and has at least two axes; a
    bias beside a kernel is a layer's own, and one beside none is batch norm's. Of the online probe
    nothing decays.
    """
    schedules.check('weight_decay', weight_decay, least=0)
    schedules.choose('weight_decay_on', weight_decay_on, WEIGHT_DECAY_ON)

    def names_in(path):
        return tuple(jax.tree_util.keystr((key,), simple=True) for key in path)

    def mask(params):
        known = {names_in(path) for path, _ in jax.tree_util.tree_leaves_with_path(params)}

        def decays(path, leaf):
            *parents, name = names_in(path)
            if ONLINE_PROBE in parents:
                return False
            if weight_decay_on == 'all':
                return True
            if name == 'bias' and weight_decay_on == 'no_batch_norm':
                return (*parents, 'kernel') in known
            if name in ('bias', 'scale'):
                return False
            return leaf.ndim > 1 or weight_decay_on == 'no_batch_norm'

        return jax.tree_util.tree_map_with_path(decays, params)

    return mask


def lenient(optimizer):
    """The optimizer under standard dtype promotion, which optax's schedules and moments need."""
    optimizer = optax.with_extra_args_support(optimizer)

    def init(params):
        with jax.numpy_dtype_promotion('standard'):
            return optimizer.init(params)

    def update(updates, state, params=None, **extra):
        with jax.numpy_dtype_promotion('standard'):
            return optimizer.update(updates, state, params, **extra)

    return optax.GradientTransformationExtraArgs(init, update)
