"""Two interleaved spirals, with views that add noise."""

import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax.data.probing.dataset import ProbingDataset
from contrastive_jax.errors import BadInput


def spirals(source, *, noise, turns=0.75, mirror=False):
    """Points of two spiral arms in the plane; every view moves its point by noise of its own.

      point = 2t (cos a, sin a),   a = 2 pi turns (2t) + pi arm,   t uniform on [0, 1]
      view  = point + U(0, noise)^2, outside training the point itself

    By default the angle is 3 pi t. Noise has one sign, so that it also shifts: that is the
    paper's.

    Args:
      source: gives ids; its images are not used.
      noise: eta >= 0; the paper has 0 to 5 and finds the best near .4.
      turns: of an arm for each unit of the radius.
      mirror: whether the second arm turns the other way, as the paper's words have it; the arms
        then cross.

    Returns:
      A `ProbingDataset` of images [1, 1, 2] with the factor `arm`, 0 or 1; its `latents` are the
      point without noise, [2].

    Raises:
      BadInput: negative noise.

    Source: Wu 2020, the toy experiment on view sets; its formula is not printed.
    """
    if not noise >= 0:
        raise BadInput(f'config.data.noise is {noise}; it must be at least 0.')

    def compose(draws, example, tables):
        del example, tables
        arm_key, place_key = jax.random.split(draws.example)
        arm = jax.random.randint(arm_key, (), 0, 2, jnp.int32)
        radius = 2 * jax.random.uniform(place_key)
        angle = np.float32(2 * np.pi * turns) * radius
        if mirror:
            angle = jnp.where(arm == 1, -angle, angle)
        angle += np.float32(np.pi) * arm.astype(jnp.float32)
        point = radius * jnp.stack([jnp.cos(angle), jnp.sin(angle)])
        moved = point + noise * jax.random.uniform(draws.side, (2,))
        seen = jnp.where(draws.index < 0, point, moved)
        return {
            'image': seen.reshape(1, 1, 2),
            'channels': jnp.zeros(0),
            'arm': arm,
            'latents': point,
        }

    return ProbingDataset(source, {'arm': 2}, compose, sides_differ=noise > 0)
