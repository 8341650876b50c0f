"""Our colour jitter beside dm_pix's arithmetic in its place: agreement and time, in one run.

python -m benchmarks.colours

Needs dm_pix, which is not a dependency. Saturation and hue alone agree; inside a compiled view,
where an earlier operation is rounded anew, dm_pix's search for the largest channel by equality goes
wrong.
"""

import jax
import jax.numpy as jnp
import numpy as np
from dm_pix import hsv_to_rgb, rgb_to_hsv

from benchmarks.timing import interleaved
from contrastive_jax import views
from contrastive_jax.views import jittering
from experiments import cli

ROUNDS = 7
COUNT = 512
SIZE = 32


def adjust_by_pix(image, saturation, hue, turn):
    """`jittering.adjust_colour` by dm_pix."""
    with jax.numpy_dtype_promotion('standard'):
        turned, saturated, value = rgb_to_hsv(image, channel_axis=0)
        turned = turned + jnp.where(turn, hue, 0.0)
        saturated = jnp.where(turn, saturated, jnp.clip(saturated * saturation, 0.0, 1.0))
        return hsv_to_rgb(jnp.stack([turned, saturated, value]), channel_axis=0)


def compiled(view, keys, images, adjust):
    """A view of every image, compiled with one form of the arithmetic."""
    own, jittering.adjust_colour = jittering.adjust_colour, adjust
    program = jax.jit(jax.vmap(view)).lower(keys, images).compile()
    jittering.adjust_colour = own
    return program


def main():
    """Prints a row for each view with colours."""
    cli.use_large_pages()
    images = np.random.default_rng(0).uniform(size=(COUNT, SIZE, SIZE, 3)).astype(np.float32)
    keys = jax.random.split(jax.random.key(0), COUNT)
    print(f'{"":24} {"ours, us":>9} {"dm_pix":>9} {"largest difference":>20} {"values off":>11}')
    for view in (views.jitter, views.crop_and_jitter, views.simclr_cifar):
        forms = {
            name: compiled(view, keys, images, adjust)
            for name, adjust in (('ours', jittering.adjust_colour), ('dm_pix', adjust_by_pix))
        }
        results = {name: np.asarray(program(keys, images)) for name, program in forms.items()}
        difference = np.abs(results['ours'] - results['dm_pix'])
        times = interleaved(
            {
                name: lambda program=program: program(keys, images).block_until_ready()
                for name, program in forms.items()
            },
            ROUNDS,
        )
        ours, theirs = (1e6 * times[name][0] / COUNT for name in forms)
        print(
            f'{view.__name__:24} {ours:9.1f} {theirs:9.1f} {difference.max():20.2g} '
            f'{(difference > 1e-4).sum():11}'
        )


if __name__ == '__main__':
    main()
