"""Claims: a sentence of a paper, a statistic with an interval over seeds, and a verdict."""

import math
from typing import NamedTuple

import numpy as np
from scipy import stats

from contrastive_jax.evaluation.intervals import t_interval

VERDICTS = ('holds', 'does_not_hold', 'inconclusive')
DIRECTIONS = ('above', 'below', 'within')
FEWEST_SEEDS = 3


class Claim(NamedTuple):
    """A sentence that runs can speak for or against.

    Attributes:
      id: the number of the claim, such as '5a'.
      claim: one sentence that a reader of the paper recognises.
      source: section, figure or table of the paper.
      config: the path of the config file whose sweep tests it.
      statistic: in words, with its unit.
      of_seed: (rows of one seed) -> float; rows are those of results.csv, see `value`.
      threshold: a number, or (a, b) for the direction 'within'; written down before the runs.
      direction: 'above', 'below' or 'within'.
      paper_value: the statistic from the paper's own numbers, or None.
      scale_needed: what scale could show it where this one cannot, or ''; 'None: ...' says why no
        scale could.
      ours: whether it is a check of ours, a control or a comparison, and not the paper's sentence.
      full_config: the config of the paper's own scale whose sweep tests it too, or ''.
    """

    id: str
    claim: str
    source: str
    config: str
    statistic: str
    of_seed: object
    threshold: object
    direction: str
    paper_value: float | None = None
    scale_needed: str = ''
    ours: bool = False
    full_config: str = ''


def value(rows, metric, where):
    """A metric of the one row that has the given values.

    Args:
      rows: dicts of one seed.
      metric: name of a number in the rows.
      where: {dotted field: value} that picks the row.

    Raises:
      ValueError: no row or several have the values, or the row lacks the metric.
    """
    found = [row for row in rows if all(row.get(name) == at for name, at in where.items())]
    if len(found) != 1:
        raise ValueError(f'{len(found)} rows have {where}; one must.')
    if metric not in found[0]:
        raise ValueError(f'the row with {where} has no {metric!r} but: {", ".join(found[0])}.')
    return float(found[0][metric])


def spearman(x, y):
    """Spearman's rank correlation of two lists of numbers, in [-1, 1]; 0 where one is constant.

    A constant has no order that could go with the other's, so 0 rather than no value.
    """
    if len(set(x)) < 2 or len(set(y)) < 2:
        return 0.0
    return float(stats.spearmanr(x, y).statistic)


def judge(claim, rows):
    """The verdict on a claim from the rows of all its runs.

    The statistic of each seed is one observation; the interval is mean -+ t s / sqrt(n), at 95 %.

    Args:
      claim: a `Claim`.
      rows: dicts with `seed`, as in results.csv.

    Returns:
      dict of `estimate`, `low`, `high`, `seeds` (a list) and `verdict`: 'holds' if the whole
      interval lies beyond the threshold, or inside [a, b] for 'within'; 'does_not_hold' if it lies
      wholly on the other side; else 'inconclusive'.

    Raises:
      ValueError: fewer than 3 seeds, a statistic that is no finite number, an unknown direction.
    """
    by_seed = {}
    for row in rows:
        by_seed.setdefault(row['seed'], []).append(row)
    if len(by_seed) < FEWEST_SEEDS:
        raise ValueError(f'claim {claim.id} has {len(by_seed)} seeds; it needs {FEWEST_SEEDS}.')
    seeds = sorted(by_seed)
    values = [float(claim.of_seed(by_seed[seed])) for seed in seeds]
    for seed, at_seed in zip(seeds, values, strict=True):
        if not math.isfinite(at_seed):
            raise ValueError(f'claim {claim.id}: the statistic of seed {seed} is {at_seed}.')
    low, high = t_interval(values)
    return {
        'estimate': float(np.mean(values)),
        'low': low,
        'high': high,
        'seeds': seeds,
        'verdict': verdict(low, high, claim.threshold, claim.direction),
    }


def verdict(low, high, threshold, direction):
    """The verdict on an interval, see `judge`.

    Args:
      low: its lower end.
      high: its upper end.
      threshold: a number, or (a, b) for 'within'.
      direction: 'above', 'below' or 'within'.
    """
    if direction not in DIRECTIONS:
        raise ValueError(f'direction is {direction!r}, not one of: {", ".join(DIRECTIONS)}.')
    below, above = threshold if direction == 'within' else (threshold, threshold)
    sides = {
        'above': (low > above, high < above),
        'below': (high < below, low > below),
        'within': (below <= low and high <= above, high < below or low > above),
    }
    holds, fails = sides[direction]
    return VERDICTS[0 if holds else 1 if fails else 2]
