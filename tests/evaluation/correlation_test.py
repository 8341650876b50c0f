"""Correlations of metrics with accuracy: the printed ones of lee2023, plain loops, notes."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import correlations
from contrastive_jax.evaluation.correlation import read_table

PAPER = Path(__file__).parents[2] / 'results' / 'lee2023' / 'paper'
LOWER = ('alignment', 'uniformity', 'contrastive_loss')


@pytest.mark.parametrize('number', ['IV', 'V', 'VI', 'VII', 'VIII', 'IX'])
def test_the_tables_of_lee2023_give_its_printed_correlations(number):
    """Within 0.003, but I_SimCLR of Table V 0.0031: its rounded cells leave 0.077 to 0.100."""
    path = PAPER / f'table_{number.lower()}.csv'
    metrics = [
        name for name in (*LOWER, 'tolerance', 'I_SimCLR', 'I_class') if name in read_table(path)
    ]
    lower = [name for name in LOWER if name in metrics]
    found = correlations(path, metrics=metrics, lower_is_better=lower)
    printed = read_table(PAPER / 'correlations.csv')
    for statistic in ('pearson', 'kendall'):
        (row,) = (
            i
            for i, place in enumerate(zip(printed['table'], printed['stat'], strict=True))
            if place == (number, statistic)
        )
        for name in metrics:
            rounding = 0.0035 if (number, name) == ('V', 'I_SimCLR') else 0.003
            assert found[name][statistic] == pytest.approx(printed[name][row], abs=rounding)


def plain_kendall(first, second):
    concordant = discordant = only_first = only_second = 0
    for i in range(len(first)):
        for j in range(i):
            a, b = first[i] - first[j], second[i] - second[j]
            concordant += a * b > 0
            discordant += a * b < 0
            only_first += a == 0 and b != 0
            only_second += b == 0 and a != 0
    untied = concordant + discordant
    return (concordant - discordant) / math.sqrt((untied + only_first) * (untied + only_second))


def test_equals_plain_loops_over_the_rows_that_are_there():
    generator = np.random.default_rng(0)
    metric, accuracy = generator.integers(0, 6, (2, 20)).astype(float)
    metric[[2, 11]], accuracy[5] = np.nan, np.nan
    found = correlations({'acc': accuracy, 'm': metric})['m']
    known = [i for i in range(20) if i not in (2, 5, 11)]
    m, a = metric[known], accuracy[known]
    assert (found['models'], found['missing'], found['note']) == (17, 3, '')
    covariance = sum((x - m.mean()) * (y - a.mean()) for x, y in zip(m, a, strict=True))
    assert found['pearson'] == pytest.approx(covariance / (17 * m.std() * a.std()))
    assert found['kendall'] == pytest.approx(plain_kendall(m, a))
    peer = stats.pearsonr(m, a).confidence_interval(0.95)
    assert found['pearson_low'] == pytest.approx(peer.low)
    assert found['pearson_high'] == pytest.approx(peer.high)
    negative = correlations({'acc': accuracy, 'm': metric}, lower_is_better=['m'])['m']
    for name in ('pearson', 'kendall'):
        assert negative[name] == pytest.approx(-found[name])
        assert negative[f'{name}_low'] == pytest.approx(-found[f'{name}_high'])


def test_intervals_hold_the_truth_19_times_in_20():
    """Normal pairs of rho = 0.6: tau is 2 / pi arcsin(rho)."""
    generator, rho, tables = np.random.default_rng(0), 0.6, 600
    truth = {'pearson': rho, 'kendall': 2 / math.pi * math.asin(rho)}
    inside = dict.fromkeys(truth, 0)
    for _ in range(tables):
        accuracy, noise = generator.normal(size=(2, 16))
        metric = rho * accuracy + math.sqrt(1 - rho**2) * noise
        row = correlations({'acc': accuracy, 'm': metric})['m']
        for name, value in truth.items():
            inside[name] += row[f'{name}_low'] <= value <= row[f'{name}_high']
    for count in inside.values():
        assert count / tables == pytest.approx(0.95, abs=0.027)  # three deviations


def test_what_has_no_correlation_says_why():
    table = {
        'model': ['a', 'b', 'c', 'd'],
        'acc': [1, 2, 3, 4],
        'same': [2, 2, 2, 2],
        'few': [1, None, 'NA', 2],
        'straight': [1e200, 2e200, 3e200, 4e200],
        'three': [1, 3, 2, math.nan],
        'empty': [None] * 4,
    }
    found = correlations(table)
    assert list(found) == ['same', 'few', 'straight', 'three', 'empty']
    for name, note in {
        'same': 'constant',
        'few': 'only 2 models',
        'empty': 'only 0 models',
    }.items():
        assert found[name]['note'] == note
        assert math.isnan(found[name]['pearson'])
        assert math.isnan(found[name]['kendall_low'])
    assert found['few']['missing'] == 2
    assert found['straight']['pearson'] == pytest.approx(1)
    assert found['straight']['kendall'] == found['straight']['kendall_high'] == 1
    assert (found['three']['pearson_low'], found['three']['pearson_high']) == (-1, 1)
    assert found['three']['pearson'] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ('change', 'options', 'sentence'),
    [
        ({}, dict(accuracy='accuracy'), "'accuracy' is no column of numbers; .*: acc, m"),
        ({}, dict(metrics=['model']), "'model' is no column of numbers"),
        ({}, dict(lower_is_better=['x']), "'x' is no column"),
        ({'acc': [1, None, 2]}, {}, "'acc' has 2 values, 2 of them different"),
        ({'acc': [1, 1, 1]}, {}, "'acc' has 3 values, 1 of them different"),
        ({'m': [1, 2, math.inf]}, {}, "'m' has an infinite number"),
        ({'m': [1, 2, 'x']}, {}, "'m' has numbers, but also 'x'"),
        ({'m': [1, 2]}, {}, 'must be of one length'),
        ({'m': ['a', 'b', 'c']}, {}, "no column of numbers beside 'acc'"),
    ],
)
def test_tables_that_cannot_be(change, options, sentence):
    table = {'model': ['a', 'b', 'c'], 'acc': [1, 2, 3], 'm': [3, 1, 2], **change}
    with pytest.raises(BadInput, match=sentence):
        correlations(table, **options)


@pytest.mark.parametrize(
    ('text', 'sentence'),
    [
        ('', 'must begin with the names of its columns'),
        ('acc,m,m\n1,2,3\n', 'each once'),
        ('acc,m\n1,2\n3\n', 'model 2: 1 cells for 2 columns'),
        ('acc,m\n', "'acc' has 0 values"),
    ],
)
def test_files_that_cannot_be(tmp_path, text, sentence):
    (tmp_path / 'models.csv').write_text(text)
    with pytest.raises(BadInput, match=sentence):
        correlations(tmp_path / 'models.csv')
    with pytest.raises(BadInput, match='none.csv cannot be read as a table'):
        correlations(str(tmp_path / 'none.csv'))


def test_ranks_do_not_depend_on_the_scale_of_a_column():
    found = correlations({'acc': [1, 2, 3, 4, 5], 'tiny': [1e-20, 2e-20, 3e-20, 4e-20, 1]})
    assert found['tiny']['kendall'] == 1


def test_perfect_agreement_of_few_models_is_no_certainty():
    found = correlations({'acc': [1, 2, 3, 4, 5, 6], 'same': [1, 2, 3, 4, 5, 6]})['same']
    assert 0.3 < found['kendall_low'] < 0.5 < found['kendall'] == found['kendall_high'] == 1
    assert found['pearson_low'] == found['pearson_high'] == pytest.approx(1)
