"""Colour suppresses the class unless the views distort it (Chen 2021, section 4's opening)."""

from contrastive_jax.evaluation.claims import Claim, value

FULL = 'configs/chen2021/colour.py'
WITHOUT, WITH = 'crop_and_flip', 'simclr_cifar,strength=0.5'


def gain(rows, metric):
    """A probe with SimCLR's colour jitter for CIFAR-10, minus without any."""
    return value(rows, metric, {'views': WITH}) - value(rows, metric, {'views': WITHOUT})


CLAIMS = [
    Claim(
        id='11a',
        claim='Colour jitter takes the colour distribution out of the features.',
        source='Sec. 4, first paragraph',
        config='configs/chen2021/colour_laptop.py',
        statistic='R2 of the colour histogram read from h, with jitter minus without',
        of_seed=lambda rows: gain(rows, 'colour_r2'),
        threshold=0.0,
        direction='below',
        full_config=FULL,
    ),
    Claim(
        id='11b',
        claim='Without colour jitter the colour distribution suppresses the object class.',
        source='Sec. 4, first paragraph',
        config='configs/chen2021/colour_cifar10_laptop.py',
        statistic='linear-probe accuracy of the class, with jitter minus without',
        of_seed=lambda rows: gain(rows, 'test_accuracy'),
        threshold=0.0,
        direction='above',
        scale_needed=(
            f'A ResNet trained for as long as SimCLR needs: {FULL}; three '
            'passes of a small network learn little beyond colours and edges.'
        ),
        full_config=FULL,
    ),
]
