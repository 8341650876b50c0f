"""Saturation of the distribution term: how many bits fill it, and what the batch adds (claim 9)."""

import numpy as np

from contrastive_jax.evaluation.claims import Claim

CONFIG = 'configs/chen2021/saturation_laptop.py'
FULL = 'configs/chen2021/saturation.py'

# Of the fall of the final loss, from the fewest bits to the most, what may be left to come.
LEFT = 0.1


def saturated_at(losses):
    """The first number of bits from which at most LEFT of the fall of the loss is left.

    "Within 10 % of the final loss" is taken of the range, since a loss may be negative or near
    zero: (loss at k bits - loss at the most bits) <= 0.1 (loss at the fewest - at the most).

    Args:
      losses: dict of number of bits to final loss, without a gap.

    Returns:
      A number of bits; the fewest where the loss does not fall.

    Raises:
      ValueError: a gap in the bits, in which the answer may lie.
    """
    bits = sorted(losses)
    if bits != list(range(bits[0], bits[-1] + 1)):
        raise ValueError(f'there are losses of {bits} bits alone: saturation may lie in a gap.')
    first, last = losses[bits[0]], losses[bits[-1]]
    return next(k for k in bits if losses[k] - last <= LEFT * max(first - last, 0.0))


def slope_on_batch(rows, where):
    """Bits at saturation against log2 of the batch: the slope of the least-squares line.

    Args:
      rows: of one seed.
      where: {axis: value} of the rows that count.

    Raises:
      ValueError: several rows of a batch and a number of bits, so of several settings.
    """
    curves = {}
    for row in rows:
        if all(row[name] == wanted for name, wanted in where.items()):
            curve = curves.setdefault(row['batch_size'], {})
            if row['data.num_bits'] in curve:
                raise ValueError(f'{where} has several rows of {row["data.num_bits"]} bits.')
            curve[row['data.num_bits']] = row['train_loss']
    batches = sorted(curves)
    return float(np.polyfit(np.log2(batches), [saturated_at(curves[b]) for b in batches], 1)[0])


def _slope_claim(number, temperature, claim, within, scale_needed=''):
    where = {'loss.distribution': 'log_sum_exp', 'loss.temperature': temperature}
    return Claim(
        id=number,
        claim=claim,
        source='Appendix B.2, Fig. B.3',
        config=CONFIG,
        statistic=(
            f'slope of the bits at saturation on log2 of the batch, temperature {temperature} '
            '(bits a doubling)'
        ),
        of_seed=lambda rows: slope_on_batch(rows, where),
        threshold=within,
        direction='within',
        scale_needed=scale_needed,
        full_config=FULL,
    )


NO_MATTER = 'At temperature {} the distribution term saturates at as many bits whatever the batch.'

CLAIMS = [
    _slope_claim(
        '9a',
        0.05,
        'A linear increase of bits requires an exponential increase of the batch size: at a small '
        'temperature saturation moves by about one bit a doubling.',
        (0.5, 1.5),
    ),
    *(
        _slope_claim(f'9{letter}', temperature, NO_MATTER.format(temperature), (-0.2, 0.2), needed)
        for letter, temperature, needed in (
            ('b', 0.2, 'None: by this measure an idealised encoder has a slope of 0.25 too.'),
            ('c', 0.5, ''),
            ('d', 1.0, ''),
        )
    ),
]


def sliced_slope(rows):
    """The same slope of the sliced Wasserstein distance to one prior, without a threshold."""
    return slope_on_batch(rows, {'loss.distribution': 'sliced_wasserstein'})
