"""The learning rate of a run: its scaling with the batch, its warm-up, its decay."""

import math
import numbers

import optax

from contrastive_jax.errors import BadInput

__all__ = ['learning_rate_schedule', 'on_plateau']

SCHEDULES = ('constant', 'cosine', 'linear', 'plateau', 'step')
SCALINGS = ('linear', 'none', 'square_root')


def learning_rate_schedule(
    *,
    learning_rate,
    num_steps,
    batch_size=None,
    scaling='none',
    schedule='cosine',
    warmup=0.0,
    drops=(),
    drop_factor=0.1,
    window=None,
    patience=10,
    max_drops=2,
):
    """The learning rate as a function of the number of updates done before.

      peak = learning_rate * (1 | batch_size / 256 | sqrt(batch_size))
      rate(t) = peak t / w                                     for t < w, the warm-up
                peak (1 + cos(pi (t - w) / (num_steps - w))) / 2   cosine
                peak (1 - (t - w) / (num_steps - w))               linear
                peak drop_factor^(number of drops at or before t)  step
                peak                                           constant, plateau

    A number of steps, here and in `drops` and `window`, is a share of the run where it is below 1.

    Args:
      learning_rate: positive, finite; before scaling.
      num_steps: length of the run.
      batch_size: pairs in a step, over all devices; needed unless `scaling` is 'none'.
      scaling: 'none', 'linear' or 'square_root'.
      schedule: 'cosine', 'linear', 'step', 'constant' or 'plateau', for which see `on_plateau`.
      warmup: steps in [0, num_steps) during which the rate rises linearly from 0 at step 0.
      drops: of 'step' alone: increasing numbers of steps, each in [warmup, num_steps).
      drop_factor: of 'step' and 'plateau': in (0, 1).
      window: of 'plateau' alone: steps, at most num_steps, whose mean loss is one value.
      patience: of 'plateau': windows without a better value before a drop, at least 1.
      max_drops: of 'plateau': at least 1.

    Returns:
      (count) -> rate, to be called under standard dtype promotion.

    Raises:
      BadInput: an unknown name, or a number out of its range.

    Source: Chen 2021's code has scaling, warm-up and cosine; its warm-up is 10 epochs. Wang 2021
      drops at 0.8 and 0.95 of 200 epochs. Wu 2020 drops twice on a plateau.
    """
    check('learning_rate', learning_rate)
    check('drop_factor', drop_factor, below=1)
    choose('schedule', schedule, SCHEDULES)
    check_plateau(schedule, window, patience, max_drops, num_steps)
    peak = scaled(learning_rate, batch_size, scaling)
    start = in_steps('warmup', warmup, num_steps)
    if start >= num_steps:
        raise BadInput(
            f'config.optimizer.warmup is {warmup}; it must end before the run, '
            f'which has {num_steps} steps.'
        )
    boundaries = drops_in_steps(schedule, drops, start, num_steps)
    pieces = [optax.constant_schedule(peak * drop_factor**k) for k in range(len(boundaries) + 1)]
    if schedule == 'cosine':
        pieces = [optax.cosine_decay_schedule(peak, num_steps - start)]
    elif schedule == 'linear':
        pieces = [optax.linear_schedule(peak, 0.0, num_steps - start)]
    if start:
        pieces = [optax.linear_schedule(0.0, peak, start), *pieces]
        boundaries = [start, *boundaries]
    return optax.join_schedules(pieces, boundaries)


def on_plateau(*, num_steps, drop_factor, window, patience, max_drops, **others):
    """Multiplies the updates by `drop_factor` each time the training loss stops falling.

    The mean loss of each window is compared with the best window so far; after `patience` windows
    that are not better by 1e-4 the rate drops, at most `max_drops` times. The tolerance is
    absolute, since losses may be negative. (Wu 2020 watches the 1-nearest-neighbour accuracy.)

    Args:
      num_steps: length of the run.
      drop_factor: in (0, 1).
      window: steps, or a share of the run.
      patience: at least 1.
      max_drops: at least 1.
      **others: the rest of the options of `learning_rate_schedule`, not read.

    Returns:
      An optax transformation whose update needs `value`, the loss.
    """
    del others
    return optax.contrib.reduce_on_plateau(
        factor=drop_factor,
        patience=patience,
        rtol=0.0,
        atol=1e-4,
        accumulation_size=max(in_steps('window', window, num_steps), 1),
        min_scale=drop_factor**max_drops,
    )


def scaled(learning_rate, batch_size, scaling):
    """The peak learning rate of a batch size."""
    choose('scaling', scaling, SCALINGS)
    if scaling == 'none':
        return learning_rate
    if batch_size is None:
        raise BadInput(f'config.optimizer.scaling is {scaling!r}, which needs the batch size.')
    factor = batch_size / 256 if scaling == 'linear' else math.sqrt(batch_size)
    return learning_rate * factor


def check_plateau(schedule, window, patience, max_drops, num_steps):
    """Raises BadInput unless the options of a plateau are given with it and in their ranges."""
    check('patience', patience, least=1, whole=True)
    check('max_drops', max_drops, least=1, whole=True)
    if (window is None) == (schedule == 'plateau'):
        raise BadInput(
            f'config.optimizer.window is {window} and schedule {schedule!r}; a window, in steps or '
            "as a share of the run, belongs to schedule 'plateau' and to no other."
        )
    if window is not None and in_steps('window', window, num_steps) > num_steps:
        raise BadInput(
            f'config.optimizer.window is {window}; it must be at most the {num_steps} steps of the '
            'run, or a share of it below 1.'
        )


def drops_in_steps(schedule, drops, start, num_steps):
    """The steps at which the rate drops, a list."""
    given = bool(drops) if isinstance(drops, (tuple, list)) else None
    if given is not (schedule == 'step'):
        raise BadInput(
            f'config.optimizer.drops is {drops!r} and schedule {schedule!r}; drops, a tuple of '
            "steps or shares of the run, belong to schedule 'step' and to no other."
        )
    steps = [in_steps('drops', drop, num_steps) for drop in drops]
    if steps != sorted(steps) or not all(start <= step < num_steps for step in steps):
        raise BadInput(
            f'config.optimizer.drops is {drops!r}, steps {steps}; they must increase, from the '
            f'end of the warm-up at step {start} to below {num_steps}, the end of the run.'
        )
    return steps


def in_steps(field, value, num_steps):
    """A number of steps, or a share of the run below 1, as a number of steps."""
    check(field, value, least=0)
    if value < 1:
        # Rounded first: 0.29 * 100 is 28.999999999999996.
        return math.floor(round(value * num_steps, 6))
    if value != int(value):
        raise BadInput(
            f'config.optimizer.{field} has {value}; it must be a whole number of steps, or a '
            'share of the run below 1.'
        )
    return int(value)


def choose(field, value, choices):
    """Raises BadInput unless a value is one of the choices."""
    if value not in choices:
        raise BadInput(
            f'config.optimizer.{field} is {value!r}, not one of: {", ".join(map(str, choices))}.'
        )


def check(field, value, least=None, below=math.inf, whole=False):
    """Raises BadInput unless a number is in its range; a bool is no number.

    Args:
      field: of config.optimizer.
      value: what it says.
      least: the smallest number it may be; None if it must be positive.
      below: the number it must stay under.
      whole: whether it must be an integer.
    """
    kind = numbers.Integral if whole else numbers.Real
    if isinstance(value, kind) and not isinstance(value, bool):
        large_enough = value > 0 if least is None else value >= least
        if large_enough and value < below:
            return
    noun = 'a whole number, ' if whole else ''
    low = 'positive' if least is None else f'at least {least}'
    high = 'finite' if below == math.inf else f'below {below}'
    raise BadInput(f'config.optimizer.{field} is {value!r}; it must be {noun}{low} and {high}.')
