r"""Random bits on ImageNet (Chen 2021, Fig. B.2).

python -m experiments.train --config=configs/chen2021/randbit_imagenet.py --workdir=...
python -m experiments.sweep --config=configs/chen2021/randbit_imagenet.py --workdir=...
python -m launch.preflight --config=configs/chen2021/randbit_imagenet.py --topology=v5e:4x4

The paper says no more than that: network, epochs and optimizer are those of Table A.2 at 100
epochs, and the numbers of bits, batch sizes, temperatures and weights, the queue and BYOL's sizes
those of `METHODS` and `BITS`. The sweep is 128 runs at each of three seeds, one after another; the
paper has one seed.
Expected, not run here: similar to CIFAR-10, accuracy falls within a few bits to that of an encoder
that sees the bits alone. The paper draws curves and prints no numbers.
Time: not run here; the preflight prints what a slice needs at least. The arg 'smoke' takes under a
minute on a laptop. Data: `tfds build imagenet2012 --file_format=array_record`, 156 GiB.
"""

from configs.chen2021 import (
    at_seeds,
    figure_of_bits,
    imagenet_losses,
    points_with_bits,
    randbit_methods,
    with_bits,
)

# Examples, epochs, and epochs of warm-up.
LENGTH = (1_281_167, 100, 10)
BITS = (0, 2, 4, 6, 8, 10, 12, 15)
METHODS = randbit_methods(
    dimensions=128,
    batch_sizes=(1024, 512, 2048),
    queue=65_536,
    momentum=0.999,
    predictor_width=4096,
    temperatures=(0.05, 0.1, 0.5, 1.0),
    weights=(0.3, 1.0, 3.0),
)


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    if arg not in ('', 'smoke'):
        raise ValueError(f"the config's argument is {arg!r}, not one of: '', 'smoke'.")
    config = imagenet_losses.get_config(arg)
    if arg:
        return with_bits(config)
    return with_bits(config, *LENGTH)


def sweep():
    """Every method at every number of bits, three seeds."""
    return at_seeds(points_with_bits(METHODS, BITS, *LENGTH))


def figure(config):
    """How to draw the sweep."""
    del config
    title = 'A few random bits disable contrastive learning on ImageNet'
    return figure_of_bits(METHODS, title, chance=0.001)
