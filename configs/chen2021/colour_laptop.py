r"""Colour suppresses the class (Chen 2021, the opening of section 4), on photographs.

python -m experiments.sweep --config=configs/chen2021/colour_laptop.py --workdir=runs/colour_laptop

Crops of one image share its colours, which are easier to agree on than its class, unless colour
jitter makes them useless. The paper says so of SimCLR and gives no number. Here by the strength of
the jitter (crop_and_flip is none): `colour_r2`, how much of the variance of the colour histogram
(4 x 4 x 4 cells of the whole image) a linear map reads from h, beside `test_accuracy` of the class.
A class here is one photograph, which its colours all but give away; whether they suppress classes
is the question of configs/chen2021/colour_cifar10_laptop.py.

Expected: `colour_r2` falls with the jitter. Here (results/chen2021/colour_laptop): 0.80 without,
0.69, 0.62 and 0.63 with strengths 0.25, 0.5 and 1.
Time: 12 runs of 1 to 2 minutes on one CPU core (one of them was held up).
Data: the extra `photographs`.
"""

from configs.chen2021 import randbit_digits
from configs.sweeps import product

VIEWS = ('crop_and_flip', *(f'simclr_cifar,strength={strength}' for strength in (0.25, 0.5, 1.0)))


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = randbit_digits.get_config(arg)
    count = 10 if arg == 'smoke' else 500
    config.data = dict(source=f'photographs,size=32,count={count}', data_dir='', probing='plain')
    config.views = dict(name='crop_and_flip')
    config.measure = dict(colour_bins=4)
    if arg != 'smoke':
        config.num_steps = 400
    return config


def sweep():
    """Strengths of the jitter, three seeds."""
    return product(seed=(0, 1, 2), views=VIEWS)


def figure(config):
    """How to draw the sweep; experiments/chen2021/figures/colour.py draws both probes."""
    del config
    return dict(
        title='Colours in the features, by the strength of the jitter',
        x='views',
        x_label='',
        y='colour_r2',
        y_label='R2 of the colour histogram, read from h',
    )
