"""Parameters that belong to a loss and are trained beside the encoder."""

from collections.abc import Sequence

import flax.linen as nn
import jax.numpy as jnp
import numpy as np

# A lambda that training drives out of this range counts as its end, which has a finite inverse.
SMALLEST_LAMBDA, LARGEST_LAMBDA = 1e-6, 1e6


class LearnedTemperature(nn.Module):
    """One learned positive temperature a dimension, for a loss's `temperature`.

      lambda = softplus(free), temperature = 1 / lambda

    A large lambda, a small temperature, makes a dimension count much: training gives it to those
    in which the views of an example agree.

    Attributes:
      dimensions: d, of the projections, at least 1.
      initial: temperatures at the start, in [1e-6, 1e6]: one for all dimensions, or d of them.

    Variables: `free` [d], float32, in 'params'. Give it a learning rate of its own; the source has
    1e-3.

    Raises:
      ValueError: at init: an initial temperature outside [1e-6, 1e6], or a wrong number.

    Source: the AnInfoNCE form of the adaptive temperature of Rusak 2022.
    """

    dimensions: int
    initial: float | Sequence[float]

    @nn.compact
    def __call__(self):
        """The temperatures [d], float32, in [1e-6, 1e6]."""
        free = self.param('free', lambda key: self._initial_free())
        return 1 / jnp.clip(nn.softplus(free), SMALLEST_LAMBDA, LARGEST_LAMBDA)

    def _initial_free(self):
        """The free vector whose temperatures are the initial ones."""
        initial = np.asarray(self.initial, np.float64)
        in_range = np.all((initial >= 1 / LARGEST_LAMBDA) & (initial <= 1 / SMALLEST_LAMBDA))
        if initial.shape not in ((), (self.dimensions,)) or not in_range:
            raise ValueError(
                f'initial must be one temperature in [1e-6, 1e6] or {self.dimensions} of them, '
                f'got {self.initial}.'
            )
        inverse = 1 / np.broadcast_to(initial, (self.dimensions,))
        # softplus turned round: log(exp(inverse) - 1), which would overflow as it stands.
        return jnp.asarray(inverse + np.log(-np.expm1(-inverse)), jnp.float32)
