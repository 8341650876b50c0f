r"""A small temperature with and without random bits on CIFAR-10 (Chen 2021, Fig. B.1), on a laptop.

python -m experiments.sweep --config=configs/chen2021/randbit_cifar10_laptop.py \
    --config.data.data_dir=data --workdir=runs/randbit_cifar10_laptop

What Fig. B.1 says of temperatures, at two of them: 0.05 and 0.2, without bits and with five, on the
notebook's small network, three passes over the images; colours are jittered as SimCLR does on
CIFAR-10.

Expected: five bits cost temperature 0.2 more than 0.05, and without bits 0.05 reads less, as the
paper says; its figure prints no numbers. Here (results/chen2021/randbit_cifar10_laptop): with five
bits 0.34 at temperature 0.05 and 0.29 at 0.2; without, 0.508 and 0.505, the small temperature ahead
by 0.003 to 0.004 in each seed, less than the standard error of one accuracy (0.005).
Time: 12 runs of 2 to 4 minutes on one CPU core.
Data: `tfds build cifar10 --file_format=array_record`, 132 MiB.
"""

from configs.chen2021 import randbit_digits
from configs.sweeps import product

# Temperature to the loss as text.
LOSSES = {tau: f'nt_xent,temperature={tau}' for tau in (0.05, 0.2)}


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = randbit_digits.get_config(arg)
    config.views = dict(name='simclr_cifar', strength=0.5)
    if arg != 'smoke':
        config.data.update(source='tfds:cifar10', data_dir='data')
        config.num_steps = 600
    return config


def sweep():
    """Both temperatures without bits and with five, three seeds."""
    return product(seed=(0, 1, 2), loss=tuple(LOSSES.values()), data__num_bits=(0, 5))


def figure(config):
    """How to draw the sweep."""
    del config
    names = {loss: f'temperature {tau}' for tau, loss in LOSSES.items()}
    return dict(
        title='Beside random bits a small temperature keeps more of the image',
        x='data.num_bits',
        x_label='random bits beside each image',
        y='test_accuracy',
        y_label='linear-probe accuracy on CIFAR-10',
        chance=0.1,
        label=lambda point: names.get(point.get('loss'), 'ours'),
    )
