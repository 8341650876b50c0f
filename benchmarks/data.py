"""Views a second on the device, beside torchvision's and PIL's on the same cores, in one run.

python -m benchmarks.data

Ours maps a view over a batch on all cores. The peer, where torchvision is installed, makes one view
after another in two processes, on float tensors and on PIL images (which it antialiases), and sends
nothing back.
"""

import functools
import importlib.util

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import torchvision_peer
from benchmarks.timing import interleaved
from contrastive_jax import views
from experiments import cli

ROUNDS = 7

CROP = functools.partial(views.crop_only, area_range=(0.5, 1.0), method='linear')

# Title: our view, the peer's name for it, side in pixels, channels, views of one timed call.
CASES = {
    '28x28x1 linear crops': (CROP, 'crop', 28, 1, 2048),
    '32x32x3 SimCLR crops': (views.crop_only, 'simclr_crop', 32, 3, 1024),
    '32x32x3 SimCLR colour views': (views.simclr_cifar, 'simclr_colour', 32, 3, 1024),
    '112x112x3 SimCLR crops': (views.crop_only, 'simclr_crop', 112, 3, 128),
    '112x112x3 SimCLR colour views': (views.simclr_cifar, 'simclr_colour', 112, 3, 128),
    '224x224x3 SimCLR crops': (views.crop_only, 'simclr_crop', 224, 3, 32),
}


def ours(view, size, channels, count):
    """A function that makes `count` views of square images."""
    shape = (count, size, size, channels)
    images = jnp.asarray(np.random.default_rng(0).uniform(size=shape), jnp.float32)
    keys = jax.random.split(jax.random.key(0), count)
    compiled = jax.jit(jax.vmap(view)).lower(keys, images).compile()
    return lambda: compiled(keys, images).block_until_ready()


def main():
    """Times every case and prints views a second and ratios."""
    cli.use_large_pages()  # as every command does; the peer has them too
    pool = torchvision_peer.start_workers() if importlib.util.find_spec('torchvision') else None
    print(f'{"":30} {"views/s, best":>14} {"median":>9} {"ours is":>9}')
    for title, (view, name, size, channels, count) in CASES.items():
        sides = {f'{title}, ours': ours(view, size, channels, count)}
        for form in ('tensor', 'pil') if pool else ():
            sides[f'{"":8} torchvision, {form}'] = torchvision_peer.maker(
                pool, name, size, channels, form, count
            )
        times = interleaved(sides, ROUNDS)
        median_of_ours = next(iter(times.values()))[1]
        for side, (best, median) in times.items():
            print(
                f'{side:36} {count / best:9,.0f} {count / median:9,.0f} '
                f'{median / median_of_ours:8.2f}x',
                flush=True,
            )
    if pool:
        pool.terminate()


if __name__ == '__main__':
    main()
