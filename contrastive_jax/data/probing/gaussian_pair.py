"""A correlated Gaussian pair, whose mutual information is known."""

import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax.data.probing.dataset import ProbingDataset
from contrastive_jax.errors import BadInput


def gaussian_pair(source, *, correlation=0.2, dimensions=1, variance=2.0, fresh=False):
    """Pairs (X, Y) of jointly normal vectors; the first side sees X and the second Y.

      Cov(X_i, X_j) = Cov(Y_i, Y_j) = variance [i = j],   Cov(X_i, Y_j) = rho variance [i = j],
      I(X; Y) = -d/2 log(1 - rho^2) nats

    With the defaults it is the pair of the paper, whose covariance is [[2, .4], [.4, 2]].

    Args:
      source: gives ids; its images are not used.
      correlation: rho in (-1, 1).
      dimensions: d >= 1.
      variance: of every coordinate, positive.
      fresh: whether a pair is drawn anew at every visit or is a function of seed, split and id.

    Returns:
      A `ProbingDataset` of images [1, 1, d], without factors; its `latents` are X and Y, [2d],
      whichever of them is seen; outside training it is X. It measures `mutual_information_nats`,
      the true one.

    Raises:
      BadInput: an option out of its range.

    Source: Wu 2020, the toy experiment of Sec. 4; .020411 nats.
    """
    if not -1 < correlation < 1:
        raise BadInput(f'config.data.correlation is {correlation}, outside (-1, 1).')
    if dimensions < 1 or not variance > 0:
        name, value = ('dimensions', dimensions) if dimensions < 1 else ('variance', variance)
        raise BadInput(f'config.data.{name} is {value}; it must be positive.')
    deviation = np.float32(np.sqrt(variance))
    rest = np.float32(np.sqrt(1 - correlation**2))

    def compose(draws, example, tables):
        del example, tables
        key = draws.visit if fresh else draws.example
        first, noise = deviation * jax.random.normal(key, (2, dimensions))
        second = np.float32(correlation) * first + rest * noise
        seen = jnp.where(draws.index == 1, second, first)
        return {
            'image': seen.reshape(1, 1, dimensions),
            'channels': jnp.zeros(0),
            'latents': jnp.concatenate([first, second]),
        }

    information = float(-dimensions / 2 * np.log1p(-(correlation**2)))
    return ProbingDataset(
        source, {}, compose, lambda keys: {'mutual_information_nats': information},
        sides_differ=True,
    )  # fmt: skip
