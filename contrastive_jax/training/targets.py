"""Momentum encoders: `config.target`, and how the target follows the encoder.

Of a momentum encoder there are parameters alone. While training it normalises by the statistics of
its batch, over all devices, as the encoder does, and nothing is ever embedded with it: it needs no
moving averages. MoCo shuffles keys between devices, so that a query
does not share its device's statistics with its key; here both share those of the whole batch, which
tell less, the larger it is.
"""

import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.training.fields import check_number

SCHEDULES = ('constant', 'cosine')


def momentum_contrast(num_steps, *, momentum=0.999, schedule='constant'):
    """The momentum of MoCo's key encoder, (step) -> m.

    Args:
      num_steps: length of the run.
      momentum: m at the start, in [0, 1].
      schedule: 'constant', or 'cosine', which rises to 1 at the end of the run.

    Raises:
      BadInput: an option out of its range.

    Source: He et al. 2020 (MoCo), Sec. 3.2.
    """
    return momentum_of_step(num_steps, momentum, schedule)


def bootstrap(num_steps, *, momentum=0.996, schedule='cosine', predictor_width=4096):
    """The momentum of BYOL's target network, (step) -> m, and the width of its predictor.

      m(k) = 1 - (1 - m(0)) (cos(pi k / num_steps) + 1) / 2         'cosine'

    Args:
      num_steps: length of the run.
      momentum: m(0), in [0, 1].
      schedule: 'cosine', or 'constant'.
      predictor_width: of the predictor's hidden layer.

    Raises:
      BadInput: an option out of its range.

    Source: Grill et al. 2020 (BYOL), Sec. 3.2 and 3.3.
    """
    check_number('target.predictor_width', predictor_width, least=1, whole=True)
    return momentum_of_step(num_steps, momentum, schedule), predictor_width


def momentum_of_step(num_steps, momentum, schedule):
    """The momentum as a function of the number of steps done before."""
    check_number('target.momentum', momentum, least=0, most=1)
    if schedule not in SCHEDULES:
        raise BadInput(
            f'config.target.schedule is {schedule!r}, not one of: {", ".join(SCHEDULES)}.'
        )
    if schedule == 'constant':
        return lambda step: np.float32(momentum)

    def rising(step):
        progress = step.astype(jnp.float32) / num_steps
        return 1 - np.float32(1 - momentum) * (jnp.cos(np.float32(np.pi) * progress) + 1) / 2

    return rising


def follow(target, params, momentum):
    """The target after a step, m target + (1 - m) params, params those that the step made."""
    return jax.tree.map(lambda old, new: momentum * old + (1 - momentum) * new, target, params)
