"""Random invertible networks, which turn latents into observations that hide them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

SLOPE = 0.2  # of the leaky ReLU below 0
POOL = 25_000  # random matrices that tell what a good condition number is
CHUNK = 2_500  # matrices decomposed at once


@functools.lru_cache(maxsize=16)
def draw_mixing(seed, dimensions, num_layers, ratio):
    """The weights of a bias-free network whose every layer is well conditioned.

    Entries are U(-1, 1) and columns are then divided by their norm. A matrix is accepted if its
    condition number is at most the `ratio`-quantile of those of 25,000 random ones; so about
    1 / ratio are drawn for each layer. For 10 dimensions and 3 layers this takes half a second,
    once in a process.

    Args:
      seed: an integer >= 0.
      dimensions: d >= 1.
      num_layers: L >= 0.
      ratio: in [0, 1]; 0 asks for the best of the pool or better.

    Returns:
      float32 [L, d, d], read-only.

    Source: Rusak 2022, its data-generating process; the rule is that of the code it builds on.
    """
    generator = np.random.default_rng(seed)

    def draw():
        matrices = generator.uniform(-1, 1, (CHUNK, dimensions, dimensions))
        matrices /= np.linalg.norm(matrices, axis=1, keepdims=True)
        return matrices, np.linalg.cond(matrices)

    layers = []
    if num_layers:
        limit = np.quantile(np.concatenate([draw()[1] for _ in range(POOL // CHUNK)]), ratio)
    while len(layers) < num_layers:
        matrices, conditions = draw()
        layers += list(matrices[conditions <= limit])
    mixing = np.float32(layers[:num_layers]).reshape(num_layers, dimensions, dimensions)
    mixing.flags.writeable = False
    return mixing


def mix(mixing, latents):
    """The observations of latents: x = A_L s(... s(A_1 z)), with s a leaky ReLU of slope 0.2.

    Args:
      mixing: A, [L, d, d]; one layer is a linear map, none the identity.
      latents: z, float32 [n, d].

    Returns:
      x, float32 [n, d].
    """
    hidden = latents
    for number, layer in enumerate(mixing):
        hidden = jax.nn.leaky_relu(hidden, SLOPE) if number else hidden
        hidden = jnp.matmul(hidden, layer.T, precision='highest')
    return hidden


def unmix(mixing, observations):
    """The inverse of `mix`: the latents of observations, float32 [n, d]."""
    hidden = observations
    for number, layer in reversed(list(enumerate(mixing))):
        hidden = jnp.linalg.solve(layer, hidden.T).T
        hidden = jnp.where(hidden < 0, hidden / np.float32(SLOPE), hidden) if number else hidden
    return hidden
