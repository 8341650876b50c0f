"""Which measurements of models go with their accuracy: correlations over a table of models."""

import csv
import math
from pathlib import Path

import numpy as np
from scipy import stats

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.intervals import NORMAL_95

MISSING = ('', 'NA', 'nan', 'NaN')
FEWEST = 3


def correlations(table, accuracy='acc', *, metrics=None, lower_is_better=()):
    """Pearson's r and Kendall's tau-b of each metric with the accuracy, over models.

      r = cov(m, a) / (sd(m) sd(a))
      tau_b = (P - Q) / sqrt((P + Q + T_m) (P + Q + T_a))

    with P concordant and Q discordant pairs of models, T_m those tied in the metric alone and T_a
    those tied in the accuracy alone. The 95 % intervals take Fisher's z = artanh(estimate) as
    normal, with variance 1 / (n - 3) for r and 0.437 / (n - 4) for tau.

    Args:
      table: a dict of columns of one length, a row each model, or the path of a CSV file with a
        header, in which lines that begin with # are skipped. A missing cell is NaN or None, and in
        a file NA or nothing.
      accuracy: the column to correlate with.
      metrics: columns, or None for every other one that holds numbers.
      lower_is_better: metrics to multiply by -1 first.

    Returns:
      A dict from each metric, in the order of the table, to a dict of `pearson`, `pearson_low`,
      `pearson_high`, `kendall`, `kendall_low`, `kendall_high`; `models`, those with metric and
      accuracy; `missing`, the others; and `note`, why a value is NaN, or ''. All are NaN for a
      constant column or fewer than 3 models; an interval is [-1, 1] with 3 models, and with 4 for
      tau.

    Raises:
      BadInput: fewer than 3 models with an accuracy, an accuracy that is the same for all, a column
        that is not there, is not of numbers or has an infinite one, columns of several lengths.

    Source: Lee 2023, Tables IV-IX. Variance of tau: Fieller, Hartley and Pearson 1957.
    """
    columns = read_table(table) if isinstance(table, str | Path) else _checked(table)
    if metrics is None:
        metrics = [name for name, cells in columns.items() if name != accuracy and _numeric(cells)]
    if not metrics:
        raise BadInput(f'the table has no column of numbers beside {accuracy!r}.')
    for name in (accuracy, *metrics, *lower_is_better):
        if name not in columns or not _numeric(columns[name]):
            numbers = ', '.join(column for column, cells in columns.items() if _numeric(cells))
            raise BadInput(f'{name!r} is no column of numbers; the columns of numbers: {numbers}.')
    scores = columns[accuracy]
    known = scores[np.isfinite(scores)]
    if len(known) < FEWEST or np.all(known == known[0]):
        raise BadInput(
            f'{accuracy!r} has {len(known)} values, {len(np.unique(known))} of them different; a '
            f'correlation needs {FEWEST} models that are not all alike.'
        )
    return {
        name: _row(-columns[name] if name in lower_is_better else columns[name], scores)
        for name in metrics
    }


def read_table(path):
    """The columns of a CSV file: float64 arrays, NaN where missing, or lists of strings.

    Args:
      path: of a file with a header; lines that begin with # are skipped.

    Raises:
      BadInput: no such file, rows of another length than the header, a column of numbers with a
        cell that is neither a number nor missing.
    """
    try:
        lines = Path(path).read_text(encoding='utf-8-sig').splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f'{path} cannot be read as a table: {error}.') from error
    header, *rows = list(csv.reader(line for line in lines if line.strip() and line[0] != '#')) or [
        []
    ]
    if len(set(header)) < len(header) or not header:
        raise BadInput(f'{path} must begin with the names of its columns, each once; got {header}.')
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise BadInput(f'{path}, model {number}: {len(row)} cells for {len(header)} columns.')
    cells = zip(*rows, strict=True) if rows else [()] * len(header)
    return _checked(dict(zip(header, map(list, cells), strict=True)))


def _checked(table):
    """Columns of one length, those of numbers as float64 without an infinite one, or BadInput."""
    columns = {str(name): _column(str(name), cells) for name, cells in table.items()}
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        raise BadInput(f'the columns of the table must be of one length, got {lengths}.')
    return columns


def _column(name, cells):
    numbers, words = [], []
    for cell in np.asarray(cells, object).ravel():
        missing = cell is None or (isinstance(cell, str) and cell.strip() in MISSING)
        try:
            numbers.append(math.nan if missing else float(cell))
        except (TypeError, ValueError):
            words.append(cell)
    if words and any(map(math.isfinite, numbers)):
        raise BadInput(f'column {name!r} has numbers, but also {words[0]!r}; missing cells are NA.')
    if words:
        return list(cells)
    if any(map(math.isinf, numbers)):
        raise BadInput(f'column {name!r} has an infinite number; leave the cell out (NA).')
    return np.asarray(numbers, np.float64)


def _numeric(cells):
    return isinstance(cells, np.ndarray)


def _row(metric, accuracy):
    """Both correlations of two columns, over the rows where both are known."""
    known = np.isfinite(metric) & np.isfinite(accuracy)
    metric, accuracy, models = metric[known], accuracy[known], int(known.sum())
    row = {'models': models, 'missing': int(np.sum(~known)), 'note': ''}
    if models < FEWEST:
        row['note'] = f'only {models} models'
    elif np.all(metric == metric[0]) or np.all(accuracy == accuracy[0]):
        row['note'] = 'constant'
    if row['note']:
        pearson = kendall = math.nan
    else:
        # By the largest entry first: a column of huge or tiny numbers keeps its squares.
        scaled = (metric - metric.mean()) / np.abs(metric).max()
        pearson = float(np.clip(np.corrcoef(scaled, accuracy)[0, 1], -1, 1))
        kendall = float(stats.kendalltau(metric, accuracy).statistic)
        # What is one but for rounding is one.
        pearson, kendall = (round(value, 14) for value in (pearson, kendall))
    # Full agreement of ranks happens by chance: as if one pair of models were the other way round.
    all_but_one = 1 - 4 / max(models * (models - 1), 4)
    for name, value, variance, fewer, most in (
        ('pearson', pearson, 1, 3, 1),
        ('kendall', kendall, 0.437, 4, all_but_one),
    ):
        variance = variance / (models - fewer) if models > fewer else math.inf
        low, high = _fisher(value, variance, most)
        row |= {name: value, f'{name}_low': low, f'{name}_high': high}
    return row


def _fisher(value, variance, most):
    """tanh(artanh(value) -+ 1.96 sd); a value of 1 or -1 counts as `most` on its inner side."""
    if math.isnan(value):
        return math.nan, math.nan
    if math.isinf(variance):
        return -1.0, 1.0
    half, inside = NORMAL_95 * math.sqrt(variance), math.copysign(min(abs(value), most), value)
    if abs(inside) == 1:
        return value, value
    low, high = math.tanh(math.atanh(inside) - half), math.tanh(math.atanh(inside) + half)
    return (low, value) if value == 1 else (value, high) if value == -1 else (low, high)
