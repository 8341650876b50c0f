"""The losses of the generalized family: head depth, batch size, temperature and weight (1 to 3)."""

from operator import itemgetter

import numpy as np

from configs.chen2021 import five_losses
from configs.chen2021.losses_laptop import BATCH
from contrastive_jax.evaluation.claims import Claim
from experiments.chen2021.paper_tables import table
from experiments.chen2021.rows import grouped, images_of, layers_of, range_of

LOSSES, GRID = 'configs/chen2021/losses_laptop.py', 'configs/chen2021/temperature_weight_laptop.py'
CIFAR10, IMAGENET = 'configs/chen2021/cifar10_losses.py', 'configs/chen2021/imagenet_losses.py'
FULL_GRID = 'configs/chen2021/temperature_weight.py'
TELLING = ('prior', 'distribution', 'include_self')
NOISE = 'A test set of 1,000 digits has a standard error of 0.007 in each accuracy'
EPOCHS = ('ep100', 'ep200', 'ep400', 'ep800')


def name_of(row):
    """The name in `five_losses` of the loss of a row."""
    own = tuple(row[f'loss.{field}'] for field in TELLING)
    losses = five_losses(dimensions=64)
    return next(
        name for name, loss in losses.items() if tuple(loss[field] for field in TELLING) == own
    )


def ranges_over_losses(rows):
    """{(layers, batch, images): range of the accuracy of the five losses}.

    Raises:
      ValueError: there, several of the five have run but not all, or one twice.
    """
    ranges = {}
    for at, group in grouped(rows, layers_of, itemgetter('batch_size'), images_of).items():
        names = sorted(map(name_of, group))
        if names == ['nt_xent']:  # at further batch sizes and depths it runs alone
            continue
        if names != sorted(five_losses(dimensions=64)):
            layers, batch, images = at
            raise ValueError(
                f'at {layers} head layers, batch {batch} and {images:,} images the rows have '
                f'{", ".join(names)}, not the five losses.'
            )
        ranges[at] = range_of(group)
    return ranges


def ranges_over_batches(rows):
    """{(layers, images): range of the accuracy of NT-Xent}, where several batch sizes ran."""
    groups = grouped([row for row in rows if name_of(row) == 'nt_xent'], layers_of, images_of)
    return {at: range_of(group) for at, group in groups.items() if len(group) > 1}


def by_depth(ranges):
    """The mean range with a head of 2 layers minus with 3, over what both were trained at.

    Args:
      ranges: {(layers, batch or images or both): range}.

    Raises:
      ValueError: nothing was trained with both heads.
    """
    both = [at[1:] for at in ranges if at[0] == 2 and (3, *at[1:]) in ranges]
    if not both:
        raise ValueError('no batch size and length was trained with heads of both 2 and 3 layers.')
    return float(np.mean([ranges[2, *at] - ranges[3, *at] for at in both]))


def by_length(ranges):
    """The range over the losses after the shortest training minus after the longest, 2 layers.

    Args:
      ranges: of `ranges_over_losses`.

    Raises:
      ValueError: one length alone.
    """
    lengths = [images for layers, batch, images in ranges if (layers, batch) == (2, BATCH)]
    if len(lengths) < 2:
        raise ValueError(f'at 2 head layers and batch {BATCH} there is one length of training.')
    return ranges[2, BATCH, min(lengths)] - ranges[2, BATCH, max(lengths)]


def largest_of_batches(rows):
    """The greatest range of NT-Xent over batch sizes with a head of 2 layers, of all lengths.

    Raises:
      ValueError: one batch size alone.
    """
    ranges = [at for (layers, _), at in ranges_over_batches(rows).items() if layers == 2]
    if not ranges:
        raise ValueError('NT-Xent has one batch size alone; two and more have a range.')
    return max(ranges)


def spread_slopes(rows):
    """(b, c) of L_uniform(z) = a + b log(weight) + c log(temperature), least squares, in nats."""
    logs = [[1.0, np.log(row['loss.weight']), np.log(row['loss.temperature'])] for row in rows]
    spread = [row['z_uniformity'] for row in rows]
    _, b, c = np.linalg.lstsq(np.array(logs), np.array(spread), rcond=None)[0]
    return float(b), float(c)


def best_weights(rows):
    """{temperature: the weight of the best accuracy, the mean over seeds}."""
    totals = {}
    for row in rows:
        at = totals.setdefault(row['loss.temperature'], {})
        at[row['loss.weight']] = at.get(row['loss.weight'], 0.0) + row['test_accuracy']
    return {tau: max(at, key=at.get) for tau, at in sorted(totals.items())}


def ridge_slope(rows):
    """D log(best weight) / d log(temperature), least squares; reported, no claim.

    Weight and temperature oppose each other in the spread, so that a ridge of good pairs rises;
    the paper's words, "inversely correlated", would have it fall.
    """
    best = best_weights(rows)
    return float(np.polyfit(np.log(list(best)), np.log(list(best.values())), 1)[0])


def paper_range(name, across, fixed, reduce=np.mean, epochs=EPOCHS):
    """A range of the paper's table in [0, 1]: the mean, or `reduce`, of those of its other columns.

    Args:
      name: of the table.
      across: the column whose values are compared.
      fixed: {column: value} of the rows that count.
      reduce: of an array of ranges to one.
      epochs: which columns of accuracies.
    """
    rows = [row for row in table(name) if all(row[key] == at for key, at in fixed.items())]
    groups = {}
    for row in rows:
        rest = tuple(row[key] for key in row if key != across and key not in EPOCHS)
        groups.setdefault(rest, []).append([row[column] for column in epochs])
    ranges = [np.ptp(np.array(group), axis=0) for group in groups.values()]
    return round(float(reduce(np.array(ranges))) / 100, 6)


CLAIMS = [
    Claim(
        id='1a',
        claim='With a deeper projection head the losses differ less: 3 layers against 2.',
        source='Sec. 2, Fig. 1, Tables A.2 and A.3',
        config=LOSSES,
        statistic='range of accuracy over the five losses, 2 head layers minus 3 (of 1)',
        of_seed=lambda rows: by_depth(ranges_over_losses(rows)),
        threshold=0.0,
        direction='above',
        paper_value=round(
            paper_range('table_a2', 'loss', {}) - paper_range('table_a3', 'loss', {}), 6
        ),
        scale_needed=f"{NOISE}, as the paper's difference: {IMAGENET}.",
        full_config=IMAGENET,
    ),
    Claim(
        id='1b',
        claim='With longer training the losses differ less.',
        source='Fig. 1, Table A.1 (batch 128, 100 and 800 epochs)',
        config=LOSSES,
        statistic='range of accuracy over the five losses, short minus long training (of 1)',
        of_seed=lambda rows: by_length(ranges_over_losses(rows)),
        threshold=0.0,
        direction='above',
        paper_value=round(
            paper_range('table_a1', 'loss', {'batch': 128}, epochs=('ep100',))
            - paper_range('table_a1', 'loss', {'batch': 128}, epochs=('ep800',)),
            6,
        ),
        scale_needed=f'{NOISE}, and the short training has almost all of the long one: '
        f'{CIFAR10}, 100 to 800 epochs.',
        full_config=CIFAR10,
    ),
    Claim(
        id='2a',
        claim='With square-root scaling of the rate the batch size hardly matters for NT-Xent.',
        source='Sec. 2, Table A.1',
        config=LOSSES,
        statistic='range of the accuracy of NT-Xent over four batch sizes, greatest of all lengths '
        'of training (of 1)',
        of_seed=largest_of_batches,
        threshold=(0.0, 0.01),
        direction='within',
        paper_value=paper_range('table_a1', 'batch', {'loss': 'nt_xent'}, reduce=np.max),
        scale_needed=(
            f'{NOISE}, so the range of four is near the threshold whatever the batch does: '
            f'{CIFAR10}.'
        ),
        full_config=CIFAR10,
    ),
    Claim(
        id='2b',
        claim=(
            'The differences between batch sizes get smaller with a deeper head, '
            "which the paper's own Table 2 contradicts."
        ),
        source='Sec. 2, Table 2',
        config=LOSSES,
        statistic='range of NT-Xent over batch sizes, 2 head layers minus 3 (of 1)',
        of_seed=lambda rows: by_depth(ranges_over_batches(rows)),
        threshold=0.0,
        direction='above',
        paper_value=round(
            paper_range('table_2', 'batch', {'head_layers': 2})
            - paper_range('table_2', 'batch', {'head_layers': 3}),
            6,
        ),
        scale_needed="None: the paper's own ranges on ImageNet are equal.",
        full_config=IMAGENET,
    ),
    Claim(
        id='3a',
        claim='A larger weight of the distribution term spreads the projections.',
        source='Appendix A.2, Fig. A.1 and A.2',
        config=GRID,
        statistic='slope of L_uniform(z) on log(weight) beside log(temperature) (nats)',
        of_seed=lambda rows: spread_slopes(rows)[0],
        threshold=0.0,
        direction='below',
        full_config=FULL_GRID,
    ),
    Claim(
        id='3b',
        claim='A higher temperature spreads the projections less, against the weight.',
        source='Appendix A.2, Fig. A.1 and A.2',
        config=GRID,
        statistic='slope of L_uniform(z) on log(temperature) beside log(weight) (nats)',
        of_seed=lambda rows: spread_slopes(rows)[1],
        threshold=0.0,
        direction='above',
        full_config=FULL_GRID,
    ),
]
