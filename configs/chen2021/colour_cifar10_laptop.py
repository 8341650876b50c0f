r"""Colour suppresses the class (Chen 2021, the opening of section 4), on CIFAR-10 with a small net.

python -m experiments.sweep --config=configs/chen2021/colour_cifar10_laptop.py \
    --config.data.data_dir=data --workdir=runs/colour_cifar10_laptop

As configs/chen2021/colour_laptop.py, with and without the jitter, on classes that their colours do
not give away; the notebook's small network, three passes over the images.

Expected: with jitter (simclr_cifar) `colour_r2` is lower and `test_accuracy` higher than without
(crop_and_flip), as the paper says of ResNets on ImageNet. Here
(results/chen2021/colour_cifar10_laptop): 0.60 and 0.506 with, 0.73 and 0.440 without.
Time: 6 runs of 2 to 3 minutes on one CPU core (one of those recorded was held up).
Data: `tfds build cifar10 --file_format=array_record`, 132 MiB.
"""

from configs.chen2021 import colour_laptop
from configs.sweeps import product

VIEWS = ('crop_and_flip', 'simclr_cifar,strength=0.5')


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = colour_laptop.get_config(arg)
    if arg != 'smoke':
        config.data.source = 'tfds:cifar10'
        config.num_steps = 600
    return config


def sweep():
    """Without and with jitter, three seeds."""
    return product(seed=(0, 1, 2), views=VIEWS)


def figure(config):
    """How to draw the sweep; experiments/chen2021/figures/colour.py draws both probes."""
    return colour_laptop.figure(config)
