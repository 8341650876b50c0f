"""Optimizers with their schedules: what `config.optimizer.name` may say."""

import jax
import optax

from contrastive_jax.errors import BadInput

__all__ = ['adam']

SCHEDULES = ('constant', 'cosine', 'linear')


def adam(*, learning_rate, num_steps, schedule='cosine', epsilon=1e-8):
    """Adam with a learning rate that decays over the run.

    Args:
      learning_rate: at step 0, positive.
      num_steps: length of the run; the rate reaches 0 there unless constant.
      schedule: 'cosine', 'linear' or 'constant'.
      epsilon: added to the root of the second moment.

    Returns:
      An optax transformation.

    Raises:
      BadInput: an unknown schedule or a rate that is not positive.
    """
    return lenient(optax.adam(decaying(learning_rate, num_steps, schedule), eps=epsilon))


def decaying(learning_rate, num_steps, schedule):
    """A schedule from `learning_rate` at step 0 to 0 at `num_steps`, or constant."""
    if learning_rate <= 0:
        raise BadInput(f'config.optimizer.learning_rate is {learning_rate}; it must be positive.')
    if schedule == 'cosine':
        return optax.cosine_decay_schedule(learning_rate, num_steps)
    if schedule == 'linear':
        return optax.linear_schedule(learning_rate, 0.0, num_steps)
    if schedule == 'constant':
        return optax.constant_schedule(learning_rate)
    raise BadInput(
        f'config.optimizer.schedule is {schedule!r}, not one of: {", ".join(SCHEDULES)}.'
    )


def lenient(optimizer):
    """The optimizer under standard dtype promotion, which optax's schedules and moments need."""

    def init(params):
        with jax.numpy_dtype_promotion('standard'):
            return optimizer.init(params)

    def update(updates, state, params=None):
        with jax.numpy_dtype_promotion('standard'):
            return optimizer.update(updates, state, params)

    return optax.GradientTransformation(init, update)
