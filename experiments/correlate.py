r"""Which measurements of models go with their accuracy: Pearson's r and Kendall's tau-b.

python -m experiments.correlate --table=models.csv --accuracy=acc --output=runs/correlations
python -m experiments.correlate --table=results/lee2023/paper/table_vi.csv \
    --lower_is_better=alignment,uniformity

The table is a CSV file with a header and a row for each model. Every other column that holds
numbers is a metric, and the first column of words names the models; a missing cell is NA or empty,
and lines that begin with # are skipped. Prints both correlations with their 95 % intervals, the
highest r first; with --output also writes correlations.csv and a figure with a panel for each
metric into that directory.
"""

import csv
import math
from pathlib import Path

from absl import flags

from experiments import cli

TABLE = flags.DEFINE_string('table', None, 'CSV file with a row for each model.')
ACCURACY = flags.DEFINE_string('accuracy', 'acc', 'Column to correlate with.')
METRICS = flags.DEFINE_list('metrics', [], 'Columns to correlate; all that hold numbers if empty.')
LOWER = flags.DEFINE_list('lower_is_better', [], 'Metrics to multiply by -1 first.')
OUTPUT = flags.DEFINE_string('output', '', 'Directory for correlations.csv and .png.')
flags.mark_flag_as_required('table')

COLUMNS = 3  # panels side by side
MOST_NAMED = 30  # models whose points bear a number, by which a list names them


def main():
    """Prints the table; writes it and the figure where the flags say."""
    from contrastive_jax.evaluation.correlation import correlations, read_table

    table = read_table(TABLE.value)
    found = correlations(
        table,
        ACCURACY.value,
        metrics=METRICS.value or None,
        lower_is_better=LOWER.value,
    )
    # The highest first, those without a value last.
    found = dict(sorted(found.items(), key=lambda item: -_or(item[1]['pearson'], -math.inf)))
    print_rows(found)
    if OUTPUT.value:
        directory = Path(OUTPUT.value)
        directory.mkdir(parents=True, exist_ok=True)
        write_rows(directory / 'correlations.csv', found)
        draw(directory / 'correlations.png', table, ACCURACY.value, found, LOWER.value)
        print(f'{directory}/correlations.csv and correlations.png')


def print_rows(found):
    """The table in the terminal."""
    width = max(map(len, [*found, 'metric']))
    print(f'{"metric":<{width}}  models missing  Pearson [95 % interval]  Kendall [95 % interval]')
    for name, row in found.items():
        cells = [f'{_interval(row, statistic):>23}' for statistic in ('pearson', 'kendall')]
        print(f'{name:<{width}}  {row["models"]:>6} {row["missing"]:>7}  {"  ".join(cells)}')


def write_rows(path, found):
    """The table as CSV."""
    rows = [{'metric': name, **row} for name, row in found.items()]
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.DictWriter(file, rows[0] if rows else ['metric'])
        writer.writeheader()
        writer.writerows(rows)


def draw(path, table, accuracy, found, lower_is_better):
    """A scatter of the accuracy against each metric, with its correlations above.

    Args:
      path: of the PNG.
      table: of `read_table`.
      accuracy: its column.
      found: of `correlations`, in the order of the panels.
      lower_is_better: metrics whose axis runs from high to low, so that better is always right.
    """
    import numpy as np
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    columns = min(COLUMNS, len(found))
    rows = -(-len(found) // columns)
    names = names_of(table)
    figure = Figure(
        figsize=(2.9 * columns + (2.2 if names else 0), 2.9 * rows + 0.3), layout='constrained'
    )
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    for axes, (name, row) in zip(grid, found.items(), strict=False):
        metric, scores = table[name], table[accuracy]
        known = np.isfinite(metric) & np.isfinite(scores)
        size = 11 if names else 5
        axes.plot(metric[known], scores[known], 'o', markersize=size, alpha=0.75, clip_on=False)
        for place in np.flatnonzero(known) if names else ():
            axes.annotate(
                str(place + 1), (metric[place], scores[place]), ha='center', va='center',
                fontsize=6.5, color='white',
            )  # fmt: skip
        if row['pearson_low'] > 0 or row['pearson_high'] < 0:
            line = np.polyfit(metric[known], scores[known], 1)
            ends = np.array([metric[known].min(), metric[known].max()])
            axes.plot(ends, np.polyval(line, ends), color='C1', linewidth=1.5, zorder=0)
        axes.set_title(
            f'$r$  {_interval(row, "pearson")}\n$\\tau$  {_interval(row, "kendall")}', fontsize=9.5
        )
        if name in lower_is_better:
            axes.invert_xaxis()
        axes.set_xlabel(f'{name} (lower is better)' if name in lower_is_better else name)
        axes.grid(alpha=0.25)
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel(accuracy)
    for axes in grid[len(found) :]:
        axes.remove()
    if names:
        # Handles of no length: the words of the list say all.
        handles = [Line2D([], [], linestyle='none') for _ in names]
        figure.legend(
            handles,
            [f'{n} {name} ({table[accuracy][n - 1]:g})' for n, name in enumerate(names, 1)],
            loc='outside right center', fontsize=8, handlelength=0, frameon=False,
        )  # fmt: skip
    models = max(row['models'] for row in found.values())
    figure.suptitle(
        f'{accuracy} of {models} models against each metric, with a line where the 95 % interval '
        'of $r$ excludes 0',
        fontsize=10.5,
    )
    beside = path.with_suffix('.part.png')
    figure.savefig(beside, dpi=150)
    beside.replace(path)


def names_of(table):
    """The cells of the first column of words, or [] where there is none or too many models."""
    words = [cells for cells in table.values() if isinstance(cells, list)]
    return words[0] if words and len(words[0]) <= MOST_NAMED else []


def _interval(row, name):
    if math.isnan(row[name]):
        return row['note']
    return f'{row[name]:.2f} [{row[name + "_low"]:.2f}, {row[name + "_high"]:.2f}]'


def _or(value, instead):
    return instead if math.isnan(value) else value


if __name__ == '__main__':
    cli.run(main)
