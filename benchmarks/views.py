"""Views a second: 28x28 random crops on the device, beside torchvision's where it is installed.

python -m benchmarks.views
"""

import importlib.util

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.timing import interleaved
from contrastive_jax import views

COUNT = 2048
ROUNDS = 15


def ours(size, method):
    """A function that makes COUNT views of size x size images."""
    images = jnp.asarray(np.random.default_rng(0).uniform(size=(COUNT, size, size, 1)), jnp.float32)
    keys = jax.random.split(jax.random.key(0), COUNT)

    def view(key, image):
        return views.crop_only(key, image, area_range=(0.5, 1.0), method=method)

    compiled = jax.jit(jax.vmap(view)).lower(keys, images).compile()
    return lambda: compiled(keys, images).block_until_ready()


def torchvision(size):
    """The same by torchvision, one image after another."""
    import torch
    from torchvision.transforms import v2

    images = torch.rand(COUNT, 1, size, size)
    crop = v2.RandomResizedCrop(size, scale=(0.5, 1.0), antialias=False)
    return lambda: [crop(image) for image in images]


def main():
    """Times every side and prints views a second and ratios."""
    sides = {f'ours, 28x28, {method}': ours(28, method) for method in ('linear', 'cubic')}
    if importlib.util.find_spec('torchvision'):
        sides['torchvision, 28x28, linear'] = torchvision(28)
    times = interleaved(sides, ROUNDS)
    first = next(iter(times.values()))[1]
    print(f'{"":28} {"views/s, best":>14} {"median":>9} {"ours is":>9}')
    for name, (best, median) in times.items():
        print(f'{name:28} {COUNT / best:14,.0f} {COUNT / median:9,.0f} {median / first:8.2f}x')


if __name__ == '__main__':
    main()
