"""Local features follow objects (Chen 2021, section 3.2)."""

from configs.chen2021 import BEFORE_TRAINING
from configs.chen2021.local_features_laptop import SIMCLR, TRAINING
from contrastive_jax.evaluation.claims import Claim, value

CLUSTERS = 8


def agreement(rows, layer, training=TRAINING):
    """Adjusted mutual information of SimCLR's clusters of a layer with the known regions."""
    return value(rows, f'agreement_{CLUSTERS}_{layer}', {'loss': SIMCLR, **training})


def above_pixels(rows):
    """The agreement of the deepest feature maps minus that of raw patches of the same size."""
    return agreement(rows, 'block_group_3') - agreement(rows, 'pixels')


def above_untrained(rows):
    """The agreement of the deepest feature maps minus that of the network before training."""
    layer = 'block_group_3'
    return agreement(rows, layer) - agreement(rows, layer, BEFORE_TRAINING)


CLAIMS = [
    Claim(
        id='10a',
        claim='Local features of SimCLR group by object, which raw pixels do less.',
        source='Sec. 3.2, Figs. 3 and 4',
        config='configs/chen2021/local_features_laptop.py',
        statistic=(
            'adjusted mutual information of 8 clusters with the known region of the object, the '
            'last feature maps of SimCLR minus raw pixels'
        ),
        of_seed=above_pixels,
        threshold=0.0,
        direction='above',
        paper_value=None,
        scale_needed='',
    ),
    Claim(
        id='10b',
        claim='Local features of the same network before training do so less too.',
        source='Sec. 3.2, Figs. 3 and 4',
        config='configs/chen2021/local_features_laptop.py',
        statistic=(
            'adjusted mutual information of 8 clusters with the known region of the object, the '
            'last feature maps of SimCLR minus those of the network before training, with batch '
            'statistics of the images'
        ),
        of_seed=above_untrained,
        threshold=0.0,
        direction='above',
        paper_value=None,
        scale_needed='Not known: more seeds, or a network of which more than the last layer is '
        'deep (configs/chen2021/local_features.py).',
        ours=True,
    ),
]
