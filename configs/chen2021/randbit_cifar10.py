r"""Random bits on CIFAR-10 (Chen 2021, Fig. B.1).

python -m experiments.train --config=configs/chen2021/randbit_cifar10.py --workdir=...
python -m experiments.sweep --config=configs/chen2021/randbit_cifar10.py --workdir=...
python -m launch.preflight --config=configs/chen2021/randbit_cifar10.py --topology=v5e:2x4

ResNet-18 for 400 epochs, as the paper says. It leaves open the numbers of bits, batch sizes,
temperatures and weights, the queue, BYOL's sizes and the optimizer: those of `METHODS` and `BITS`
are choices, and the optimizer is that of Table A.1. The paper has one seed, here are three, one
after another.
Expected, not run here: accuracy falls within a few bits, and before 15 bits to that of an encoder
that sees the bits alone; a small temperature or a large weight softens that, and is worse without
bits. The paper draws curves and prints no numbers.
Time: not run here; the preflight prints what a slice needs at least. The arg 'smoke' takes under a
minute on a laptop. Data: `tfds build cifar10 --file_format=array_record`, 132 MiB.
"""

from configs.chen2021 import (
    at_seeds,
    cifar10_losses,
    figure_of_bits,
    points_with_bits,
    randbit_methods,
    with_bits,
)

# Examples, epochs, and epochs of warm-up.
LENGTH = (50_000, 400, 10)
BITS = (0, 2, 4, 5, 6, 8, 10, 12, 15)
METHODS = randbit_methods(
    dimensions=64,
    batch_sizes=(128, 256, 512, 1024),
    queue=4096,
    momentum=0.99,
    predictor_width=512,
    temperatures=(0.05, 0.1, 0.5, 1.0),
    weights=(0.3, 1.0, 3.0),
)


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    if arg not in ('', 'smoke'):
        raise ValueError(f"the config's argument is {arg!r}, not one of: '', 'smoke'.")
    config = cifar10_losses.get_config(arg)
    if arg:
        return with_bits(config)
    config.model.depth = 18
    return with_bits(config, *LENGTH)


def sweep():
    """Every method at every number of bits, three seeds."""
    return at_seeds(points_with_bits(METHODS, BITS, *LENGTH))


def figure(config):
    """How to draw the sweep."""
    del config
    title = 'A few random bits disable contrastive learning on CIFAR-10'
    return figure_of_bits(METHODS, title, chance=0.1)
