"""Verdicts: by hand, by simulation, and what is refused."""

import math

import numpy as np
import pytest

from contrastive_jax.evaluation.claims import Claim, judge, spearman, value, verdict

CLAIM = Claim(
    id='1a',
    claim='Bits suppress digits.',
    source='Fig. 7',
    config='configs/chen2021/randbit_digits.py',
    statistic='accuracy at 0 bits minus at 8',
    of_seed=lambda rows: value(rows, 'acc', {'bits': 0}) - value(rows, 'acc', {'bits': 8}),
    threshold=0.0,
    direction='above',
)


def rows_of(differences):
    return [
        {'seed': seed, 'bits': bits, 'acc': 0.1 + (difference if bits == 0 else 0)}
        for bits in (0, 8)
        for seed, difference in enumerate(differences)
    ]


def test_the_interval_is_students_over_paired_seeds():
    # By hand: mean 0.8, s = 0.1, t(0.975, 2) = 4.302653, half = 4.302653 * 0.1 / sqrt(3).
    found = judge(CLAIM, rows_of([0.7, 0.8, 0.9]))
    assert found['estimate'] == pytest.approx(0.8)
    assert found['low'] == pytest.approx(0.8 - 4.302653 * 0.1 / math.sqrt(3), abs=1e-6)
    assert found['high'] == pytest.approx(0.8 + 4.302653 * 0.1 / math.sqrt(3), abs=1e-6)
    assert (found['seeds'], found['verdict']) == ([0, 1, 2], 'holds')
    assert judge(CLAIM, rows_of([-0.1, -0.11, -0.09]))['verdict'] == 'does_not_hold'
    assert judge(CLAIM, rows_of([-0.1, 0.3, 0.0]))['verdict'] == 'inconclusive'


def test_the_order_of_the_rows_does_not_matter():
    rows = rows_of([0.7, 0.8, 0.9])
    assert judge(CLAIM, rows) == judge(CLAIM, rows[::-1])


@pytest.mark.parametrize(
    ('interval', 'threshold', 'direction', 'expected'),
    [
        ((0.1, 0.2), 0.0, 'above', 'holds'),
        ((0.0, 0.2), 0.0, 'above', 'inconclusive'),
        ((-0.2, -0.1), 0.0, 'above', 'does_not_hold'),
        ((-0.2, -0.1), 0.0, 'below', 'holds'),
        ((-0.2, 0.1), 0.0, 'below', 'inconclusive'),
        ((0.1, 0.2), 0.0, 'below', 'does_not_hold'),
        ((0.1, 0.2), (0.0, 1.0), 'within', 'holds'),
        ((-0.1, 0.2), (0.0, 1.0), 'within', 'inconclusive'),
        ((0.9, 1.2), (0.0, 1.0), 'within', 'inconclusive'),
        ((-0.1, 1.1), (0.0, 1.0), 'within', 'inconclusive'),
        ((1.1, 1.2), (0.0, 1.0), 'within', 'does_not_hold'),
        ((-1.0, -0.2), (0.0, 1.0), 'within', 'does_not_hold'),
        ((0.5, 0.5), 0.5, 'above', 'inconclusive'),
        ((0.0, 0.0), (0.0, 1.0), 'within', 'holds'),
    ],
)
def test_verdicts(interval, threshold, direction, expected):
    assert verdict(*interval, threshold, direction) == expected


def test_where_nothing_is_true_a_claim_rarely_holds():
    draws = np.random.default_rng(0).normal(size=(2000, 3))
    found = [judge(CLAIM, rows_of(list(draw)))['verdict'] for draw in draws]
    # Each tail of the interval holds 2.5 %; four standard deviations of 2,000 draws are 1.4 %.
    for side in ('holds', 'does_not_hold'):
        assert abs(found.count(side) / 2000 - 0.025) < 0.014


def test_what_cannot_be_judged_is_said():
    with pytest.raises(ValueError, match='claim 1a has 2 seeds; it needs 3'):
        judge(CLAIM, rows_of([0.1, 0.2]))
    with pytest.raises(ValueError, match='claim 1a: the statistic of seed 1 is nan'):
        judge(CLAIM, rows_of([0.1, math.nan, 0.2]))
    with pytest.raises(ValueError, match="direction is 'over', not one of: above"):
        verdict(0, 1, 0, 'over')
    with pytest.raises(ValueError, match="0 rows have {'bits': 5}"):
        value(rows_of([0.1]), 'acc', {'bits': 5})
    with pytest.raises(ValueError, match="no 'accuracy' but: seed, bits, acc"):
        value(rows_of([0.1]), 'accuracy', {'bits': 0})
    with pytest.raises(ValueError, match='2 rows have'):
        value(rows_of([0.1]), 'acc', {})


def test_rank_correlation():
    assert spearman([1, 2, 3, 4], [1, 4, 9, 16]) == pytest.approx(1)
    assert spearman([1, 2, 3, 4], [0.9, 0.5, 0.2, 0.1]) == pytest.approx(-1)
    # By hand: ranks 1, 2, 3 and 2, 1, 3; 1 - 6 * 2 / (3 * 8).
    assert spearman([1, 2, 3], [5, 4, 6]) == pytest.approx(0.5)
    assert spearman([1, 2, 3], [5, 5, 5]) == 0
