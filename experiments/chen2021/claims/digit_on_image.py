"""DigitOnImageNet: digits suppress the object, the more the more of them there are (claim 8)."""

from operator import itemgetter

from contrastive_jax.evaluation.claims import Claim, spearman
from experiments.chen2021.rows import grouped, layers_of

ABLATION = 'configs/chen2021/digit_on_image_ablation_laptop.py'
FULL_ABLATION = 'configs/chen2021/digit_on_image_ablation.py'
CONFIG = 'configs/chen2021/digit_on_image_laptop.py'
FULL = 'configs/chen2021/digit_on_image.py'
POINT = 0.01
LARGER = 'the full config: ImageNet and a ResNet-50.'


def curve(rows, loss, metric):
    """(numbers of digits, values of a metric) of a loss, the numbers rising."""
    own = sorted((row['data.num_unique'], row[metric]) for row in rows if row['loss'] == loss)
    return [number for number, _ in own], [value for _, value in own]


def order(rows, metric):
    """Spearman's correlation of a metric with the number of digits, mean over temperatures."""
    losses = {row['loss'] for row in rows if row['loss'].startswith('nt_xent,temperature=')}
    found = [spearman(*curve(rows, loss, metric)) for loss in sorted(losses)]
    return sum(found) / len(found)


def supervised_change(rows):
    """The supervised accuracy on the object with the most digits minus with the fewest.

    Not its range, which noise alone makes positive.
    """
    _, values = curve(rows, 'cross_entropy', 'test_accuracy_object')
    return values[-1] - values[0]


def range_of_trades(rows):
    """How far settings lie apart in what they trade, minus a quarter of what they trade.

    A trade is what digits gain and objects lose in accuracy from the fewest digits to the most.
    """
    trades = []
    for own in grouped(rows, itemgetter('batch_size'), layers_of).values():
        own.sort(key=lambda row: row['data.num_unique'])
        fewest, most = own[0], own[-1]
        gained = most['test_accuracy'] - fewest['test_accuracy']
        trades.append(gained - (most['test_accuracy_object'] - fewest['test_accuracy_object']))
    return max(trades) - min(trades) - sum(trades) / len(trades) / 4


def _of_order(number, what, metric, direction, claim, ours=False):
    return Claim(
        id=number,
        claim=claim,
        source='Sec. 4.2, Fig. 6b',
        config=CONFIG,
        statistic=f'Spearman correlation of {what} with the number of digits, mean over tau',
        of_seed=lambda rows: order(rows, metric),
        threshold=0.0,
        direction=direction,
        scale_needed='On 400 test images an accuracy has a standard error of 0.02, about what it '
        f'changes by; {LARGER}',
        ours=ours,
        full_config=FULL,
    )


CLAIMS = [
    _of_order(
        '8a',
        "the digit's accuracy",
        'test_accuracy',
        'above',
        'With the number of different digits SimCLR reads the digits better.',
    ),
    _of_order(
        '8b',
        "the digit's accuracy, of a probe that is fitted to all digits,",
        'test_accuracy_all_digits',
        'above',
        'That is so as well where the classifier has seen all the digits.',
        ours=True,
    ),
    _of_order(
        '8c',
        "the object's accuracy",
        'test_accuracy_object',
        'below',
        'With the number of different digits SimCLR reads the object worse.',
    ),
    Claim(
        id='8d',
        claim='With labels of the object the number of digits has little impact on its accuracy.',
        source='Sec. 4.2, Fig. 6a',
        config=CONFIG,
        statistic='supervised accuracy on the object with the most digits minus with the fewest',
        of_seed=supervised_change,
        threshold=(-POINT, POINT),
        direction='within',
        scale_needed=f'On 400 test images one point is within the noise; {LARGER}',
        full_config=FULL,
    ),
    Claim(
        id='8e',
        claim='Batch size and head depth have negligible influence on what is traded.',
        source='Fig. 6 (caption)',
        config=ABLATION,
        statistic='range, over two batch sizes and two heads, of what digits gain and objects lose '
        'from the fewest digits to the most, minus a quarter of its mean (accuracy)',
        of_seed=range_of_trades,
        threshold=0.0,
        direction='below',
        scale_needed='On 400 test images a trade has a standard error of 0.05, and of 4 digits a '
        f'probe has seen 4 of the 10 classes, whatever the encoder; {LARGER}',
        full_config=FULL_ABLATION,
    ),
]
