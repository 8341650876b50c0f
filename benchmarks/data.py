"""Composition and views on the device, beside torchvision's and PIL's on the same cores.

python -m benchmarks.data
python -m benchmarks.data --cases=MultiDigits,RandBit
python -m benchmarks.data --cases='first batch' --data_dir=data

Ours maps over a batch on all cores. The peer, where torchvision is installed, makes one example
after another in two processes, on float tensors and on PIL images (which it antialiases), and sends
nothing back. After these: what RandBit costs a train step, and the time from the start of a process
to its first batch on the device. All in one run.
"""

import functools
import importlib.util

import jax
import jax.numpy as jnp
import numpy as np
from absl import app, flags, logging

from benchmarks import first_batch, randbit_cost, torchvision_peer
from benchmarks.timing import interleaved
from benchmarks.train_side import view_maker
from contrastive_jax import views
from contrastive_jax.data import probing
from contrastive_jax.data.sources import ArraySource
from experiments import cli

CHOSEN = flags.DEFINE_list('cases', None, 'parts of the titles of cases to run; default: all')
DATA_DIR = flags.DEFINE_string('data_dir', '', 'where TFDS has prepared sets; default: its own')

ROUNDS = 7

CROP = functools.partial(views.crop_only, area_range=(0.5, 1.0), method='linear')

# Title: our view, the peer's name for it, side in pixels, channels, views of one timed call.
VIEWS = {
    '28x28x1 linear crops': (CROP, 'crop', 28, 1, 2048),
    '32x32x3 SimCLR crops': (views.crop_only, 'simclr_crop', 32, 3, 1024),
    '32x32x3 SimCLR colour views': (views.simclr_cifar, 'simclr_colour', 32, 3, 1024),
    '112x112x3 SimCLR crops': (views.crop_only, 'simclr_crop', 112, 3, 128),
    '112x112x3 SimCLR colour views': (views.simclr_cifar, 'simclr_colour', 112, 3, 128),
    '224x224x3 SimCLR crops': (views.crop_only, 'simclr_crop', 224, 3, 32),
}

BITS = dict(bits=8)
DIGITS = dict(digits=4, canvas=112)
RANDBIT = functools.partial(probing.randbit, num_bits=8)
MULTIDIGITS = functools.partial(probing.multidigits, num_digits=4)

# Title: our composition, its name and options for the peer, our view, the peer's name for it, side
# of the source's images, their channels, side of a view, views of one timed call, two an example.
COMPOSED = {
    'RandBit 28x28x1, linear crops': (
        RANDBIT, 'randbit', BITS, CROP, 'crop', 28, 1, 28, 2048,
    ),
    'RandBit 28x28x1, SimCLR crops': (
        RANDBIT, 'randbit', BITS, views.crop_only, 'simclr_crop', 28, 1, 28, 2048,
    ),
    'RandBit 32x32x3, SimCLR crops': (
        RANDBIT, 'randbit', BITS, views.crop_only, 'simclr_crop', 32, 3, 32, 1024,
    ),
    'RandBit 32x32x3, colour views': (
        RANDBIT, 'randbit', BITS, views.simclr_cifar, 'simclr_colour', 32, 3, 32, 1024,
    ),
    'MultiDigits 112x112x1, crops': (
        MULTIDIGITS, 'multidigits', DIGITS, views.crop_only, 'simclr_crop', 28, 1, 112, 512,
    ),
}  # fmt: skip


def ours_alone(view, size, channels, count):
    """A function that makes `count` views of square images."""
    shape = (count, size, size, channels)
    images = jnp.asarray(np.random.default_rng(0).uniform(size=shape), jnp.float32)
    keys = jax.random.split(jax.random.key(0), count)
    compiled = jax.jit(jax.vmap(view)).lower(keys, images).compile()
    return lambda: compiled(keys, images).block_until_ready()


def ours_composed(composition, view, size, channels, count):
    """A function that composes examples from square images and makes `count` views of them."""
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (4096, size, size, channels), np.uint8)
    source = ArraySource(images, np.arange(4096, dtype=np.int32) % 10, 10)
    return view_maker(composition(source), view, count // 2)


def print_views(title, count, make_ours, make_peer, pool):
    """Times ours and both forms of the peer, and prints views a second and ratios."""
    sides = {f'{title}, ours': make_ours()}
    for form in ('tensor', 'pil') if pool else ():
        sides[f'{"":8} torchvision, {form}'] = make_peer(form)
    times = interleaved(sides, ROUNDS)
    median_of_ours = next(iter(times.values()))[1]
    for side, (best, median) in times.items():
        print(
            f'{side:36} {count / best:9,.0f} {count / median:9,.0f} '
            f'{median / median_of_ours:8.2f}x',
            flush=True,
        )


def time_views(chosen):
    """The cases of views alone and of composed ones among those of `chosen` titles."""
    pool = torchvision_peer.start_workers() if importlib.util.find_spec('torchvision') else None
    print(f'{"":30} {"views/s, best":>15} {"median":>9} {"ours is":>9}')
    for title in chosen:
        if title in VIEWS:
            view, name, size, channels, count = VIEWS[title]
            make_ours = functools.partial(ours_alone, view, size, channels, count)
            peer = (name, 'plain', {}, (size, size, channels), size)
        else:
            compose, composition, options, view, name, side, channels, size, count = COMPOSED[title]
            make_ours = functools.partial(ours_composed, compose, view, side, channels, count)
            peer = (name, composition, options, (side, side, channels), size)

        def make_peer(form, peer=peer, count=count):
            return torchvision_peer.maker(pool, *peer, form, count)

        print_views(title, count, make_ours, make_peer, pool)
    if pool:
        pool.terminate()


def main(argv):
    """Times every chosen case and prints its rows."""
    if argv[1:]:
        raise app.UsageError(f'unexpected arguments {argv[1:]}')
    logging.set_verbosity(logging.WARNING)  # JAX tells of backends that are not there.
    titles = [*VIEWS, *COMPOSED, randbit_cost.TITLE, first_batch.TITLE]
    chosen = [title for title in titles if any(part in title for part in CHOSEN.value or [''])]
    if not chosen:
        raise app.UsageError(f'--cases has {CHOSEN.value}; the titles are: {"; ".join(titles)}')
    if views_chosen := [title for title in chosen if title in {*VIEWS, *COMPOSED}]:
        time_views(views_chosen)
    if randbit_cost.TITLE in chosen:
        randbit_cost.print_rows()
    if first_batch.TITLE in chosen:
        first_batch.print_rows(DATA_DIR.value)


if __name__ == '__main__':
    cli.use_large_pages()  # as every command does; the peer has them too
    app.run(main)
