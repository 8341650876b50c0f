"""MultiDigits: many digits are learned at once, a large one suppresses a small one (claim 7)."""

import numpy as np

from configs.chen2021.multidigits_number import LOSSES
from configs.chen2021.multidigits_number_laptop import NUMBERS
from contrastive_jax.evaluation.claims import Claim, value

NUMBER = 'configs/chen2021/multidigits_number_laptop.py'
FULL_NUMBER = 'configs/chen2021/multidigits_number.py'
SIZE = 'configs/chen2021/multidigits_size_laptop.py'
FULL_SIZE = 'configs/chen2021/multidigits_size.py'
SIMCLR, SUPERVISED = LOSSES
POINT = 0.01
LARGER = 'the full config: a ResNet-18, 100 passes over MNIST.'


def accuracy_of(rows, loss, number, placement='random'):
    """The probe on one digit after training on `number` of them."""
    where = {'loss': loss, 'data.num_digits': number, 'data.placement': placement}
    return value(trained(rows), 'test_accuracy', where)


def trained(rows):
    """The rows of runs that trained."""
    return [row for row in rows if row['steps'] > 0]


def grid_gain_slope(rows):
    """The slope of (grid - random) on the number of digits, in accuracy a digit, of SimCLR."""
    gains = [
        accuracy_of(rows, SIMCLR, number, 'grid') - accuracy_of(rows, SIMCLR, number)
        for number in NUMBERS
    ]
    return float(np.polyfit(NUMBERS, gains, 1)[0])


def small_digit(rows, loss, ratio):
    """The probe on the small digit beside one that is `ratio` times as large; rows of one seed."""
    first = rows[0]['data.sizes'][0]
    sizes = first, round(ratio * first)
    return value(trained(rows), 'test_accuracy', {'loss': loss, 'data.sizes': sizes})


def fall(rows, loss):
    """The small digit's accuracy beside the largest second digit minus beside one of its size."""
    first, largest = max(row['data.sizes'] for row in rows)
    return small_digit(rows, loss, largest / first) - small_digit(rows, loss, 1)


CLAIMS = [
    Claim(
        id='7a',
        claim='SimCLR learns images of 8 digits as well as images of one.',
        source='Sec. 3.1, Table 3',
        config=NUMBER,
        statistic='accuracy after 8 digits minus after 1, random places',
        of_seed=lambda rows: accuracy_of(rows, SIMCLR, 8) - accuracy_of(rows, SIMCLR, 1),
        threshold=(-POINT, POINT),
        direction='within',
        paper_value=0.0,
        scale_needed=f'One digit must be learned to its end (0.73 here, paper 0.99): {LARGER}',
        full_config=FULL_NUMBER,
    ),
    Claim(
        id='7b',
        claim='With more digits SimCLR gains from places in a grid, where none overlap.',
        source='Sec. 3.1, Table 3',
        config=NUMBER,
        statistic='slope of accuracy (grid minus random) on 1, 8 and 16 digits (1 / digit)',
        of_seed=grid_gain_slope,
        threshold=0.0,
        direction='above',
        # -0.6, 0.3 and 1.9 points.
        paper_value=0.00167,
        scale_needed=f'One digit must be learned to its end: {LARGER}',
        full_config=FULL_NUMBER,
    ),
    Claim(
        id='7c',
        claim='SimCLR hardly learns a small digit beside a large one.',
        source='Sec. 4.3, Table 4',
        config=SIZE,
        statistic='small digit: accuracy beside the largest second digit minus beside one of its '
        'own size, tau .2 (laptop: three times as large, where the paper has -0.738; else four)',
        of_seed=lambda rows: fall(rows, SIMCLR),
        threshold=-40 * POINT,
        direction='below',
        paper_value=0.203 - 0.987,
        scale_needed=f'The small digit must be learned well where it is not suppressed: {LARGER}',
        full_config=FULL_SIZE,
    ),
    Claim(
        id='7d',
        claim='Supervised learning learns the small digit whatever the size of the other.',
        source='Sec. 4.3, Table 4',
        config=SIZE,
        statistic='small digit: accuracy beside the largest second digit minus beside one of its '
        'own size, labels (laptop: three times as large; else four)',
        of_seed=lambda rows: fall(rows, SUPERVISED),
        threshold=(-POINT, POINT),
        direction='within',
        paper_value=0.990 - 0.991,
        scale_needed=f'The network must be trained to convergence: {LARGER}',
        full_config=FULL_SIZE,
    ),
    Claim(
        id='7e',
        claim='A small temperature reduces the suppression of the small digit.',
        source='Sec. 4.3, Table 4',
        config=SIZE,
        statistic='small digit beside one three times as large: accuracy, tau .05 minus .2',
        of_seed=lambda rows: (
            small_digit(rows, 'nt_xent,temperature=0.05', 3) - small_digit(rows, SIMCLR, 3)
        ),
        threshold=0.0,
        direction='above',
        paper_value=0.885 - 0.249,
        scale_needed=f'The small digit must be learned where it is not suppressed: {LARGER}',
        full_config=FULL_SIZE,
    ),
]
