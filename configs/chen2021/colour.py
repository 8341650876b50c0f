r"""Colour suppresses the class, ResNet-50 on CIFAR-10 (Chen 2021, the opening of section 4).

python -m experiments.sweep --config=configs/chen2021/colour.py --workdir=runs/colour \
    --config.data.data_dir=data

As configs/chen2021/colour_laptop.py, with the paper's settings for CIFAR-10 (its appendix A.1:
LARS, learning rate 0.2 sqrt(B), d = 64, temperature 0.2, batch 128, 100 epochs) and three seeds.
The paper gives no number for colour; it refers to SimCLR's.
Expected: with jitter (simclr_cifar) `colour_r2` is lower and `test_accuracy` higher than without
(crop_and_flip); 87.4 with, in Table A.1. Not run here.
Time: not run here; python -m launch.preflight prints what a slice needs at least. The arg 'smoke'
takes a minute. Data: `tfds build cifar10 --file_format=array_record`, 132 MiB.
"""

from configs.chen2021 import cifar10_losses, colour_cifar10_laptop
from configs.sweeps import product


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    if arg not in ('', 'smoke'):
        raise ValueError(f"the config's argument is {arg!r}, not one of: '', 'smoke'.")
    config = cifar10_losses.get_config(arg)
    config.loss = dict(name='nt_xent', temperature=0.2)
    config.measure = dict(colour_bins=4)
    return config


def sweep():
    """Without and with colour jitter, three seeds."""
    return product(seed=(0, 1, 2), views=colour_cifar10_laptop.VIEWS)


def figure(config):
    """How to draw the sweep; experiments/chen2021/figures/colour.py draws both probes."""
    del config
    return dict(
        title='The class, without and with colour jitter',
        x='views',
        x_label='',
        y='test_accuracy',
        y_label='linear-probe accuracy',
        chance=0.1,
    )
