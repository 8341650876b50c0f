"""From finished runs to rows, a results.csv, a table and a figure."""

import csv
import io
import math

import numpy as np

from contrastive_jax import storage

# Columns that every row ends with.
LAST = ('steps', 'seconds', 'workdir')
MOST_LINES = 9  # of a figure whose legend stands inside
MOST_TICKS = 10  # up to so many values of an axis each get a tick


def interval_of(score):
    """The columns of a score and the ends of its 95 % interval."""
    return [score, f'{score}_low', f'{score}_high']


def columns_of(rows, axes, score):
    """The columns of a sweep's results: axes, seed, score, other metrics, then the rest."""
    first = [*(axis for axis in axes if axis != 'seed'), 'seed', *interval_of(score)]
    others = sorted({name for row in rows for name in row} - {*first, *LAST})
    return [*first, *others, *LAST]


def write_csv(path, rows, axes, score):
    """Writes rows as CSV, replacing the file in one go."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns_of(rows, axes, score))
    writer.writeheader()
    writer.writerows(rows)
    storage.write(storage.path(path), text.getvalue().encode())


def table_header(axes, score):
    """The heading of the table that `table_row` fills."""
    names = [*(axis for axis in axes if axis != 'seed'), 'seed']
    return ' '.join(f'{name:>{max(len(name), 8)}}' for name in names) + (
        f'  {score.replace("_", " ")} [95 % interval]   seconds'
    )


def table_row(row, axes, score):
    """One run as a line of text."""
    names = [*(axis for axis in axes if axis != 'seed'), 'seed']
    cells = ' '.join(f'{row[name]!s:>{max(len(name), 8)}}' for name in names)
    middle, low, high = (row[name] for name in interval_of(score))
    measured = f'{middle:.3f} [{low:.3f}, {high:.3f}]'
    return f'{cells}  {measured:>{len(score) + 16}} {row["seconds"]:>9.1f}'


def average_over_seeds(rows, axes, metric):
    """Mean and spread of a metric over the rows of each point of the axes.

    Args:
      rows: dicts with the axes, `seed` and the metric.
      axes: names of the fields to keep apart.
      metric: name of a number in the rows.

    Returns:
      A list of dicts: the axes, `mean`, `least`, `greatest`, `seeds`; in the order of the rows.
    """
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in axes), []).append(row[metric])
    return [
        dict(zip(axes, point, strict=True))
        | {
            'mean': float(np.mean(values)),
            'least': min(values),
            'greatest': max(values),
            'seeds': len(values),
        }
        for point, values in groups.items()
    ]


def draw_sweep(path, rows, axes, figure):
    """The figure of a sweep: a metric against one axis, a line for each point of the others.

    Args:
      path: of the PNG.
      rows: dicts with the axes, `seed` and the metric.
      axes: names of the swept fields.
      figure: dict of `x` and `y` (names in the rows) and optionally `title`, `x_label`,
        `y_label`, `chance` (a level to mark), `references` (dicts of `label`, `x`, `y` and,
        for the colour of one of the lines, `beside`, the {axis: value} of that line) and `label`
        ({axis: value} of the other axes -> the name of their line).
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    x, y = figure['x'], figure['y']
    others = [axis for axis in axes if axis not in ('seed', x)]
    lines = {}
    for point in average_over_seeds(rows, [x, *others], y):
        lines.setdefault(tuple(point[name] for name in others), []).append(point)
    many = len(lines) > MOST_LINES  # then the legend stands beside the plot
    size = (13, max(4.5, 0.17 * len(lines))) if many else (7, 4.5)
    drawing = Figure(figsize=size, layout='constrained')
    plot = drawing.subplots()
    places = None  # of values that are no numbers, one apart
    if not all(isinstance(row[x], int | float) and math.isfinite(row[x]) for row in rows):
        values = sorted({row[x] for row in rows}, key=lambda value: (str(type(value)), value))
        places = {value: place for place, value in enumerate(values)}
        plot.set_xticks(range(len(values)), [str(value) for value in values])
    for number, (point, line) in enumerate(lines.items()):
        at = dict(zip(others, point, strict=True))
        _draw_line(plot, line, x, figure.get('label', _values_in_words)(at), places, f'C{number}')
    for reference in figure.get('references', ()):
        beside = tuple(reference.get('beside', {}).get(name) for name in others)
        colour = f'C{list(lines).index(beside)}' if beside in lines and others else '0.5'
        plot.plot(
            reference['x'], reference['y'], 's--', color=colour, alpha=0.6,
            label=reference['label'],
        )  # fmt: skip
    if (chance := figure.get('chance')) is not None:
        plot.axhline(chance, color='0.3', linewidth=1, linestyle=':')
        plot.annotate(
            f'chance, {chance:g}', (1, chance), xycoords=('axes fraction', 'data'),
            xytext=(-4, -4), textcoords='offset points', ha='right', va='top', color='0.3',
        )  # fmt: skip
    if all(isinstance(row[x], int) for row in rows):
        values = {row[x] for row in rows}.union(*(own['x'] for own in figure.get('references', ())))
        if len(values) <= MOST_TICKS:
            plot.set_xticks(sorted(values))
        else:
            plot.xaxis.set_major_locator(MaxNLocator(integer=True))
    plot.set_xlabel(figure.get('x_label', x))
    plot.set_ylabel(figure.get('y_label', y))
    plot.set_title(figure.get('title', f'{y} against {x}'))
    if y.endswith('accuracy'):
        plot.set_ylim(0, 1)
    plot.grid(alpha=0.25)
    handles, labels = plot.get_legend_handles_labels()
    ours = len(handles) - len(figure.get('references', ()))  # error bars are listed last
    order = [*range(len(handles) - ours, len(handles)), *range(len(handles) - ours)]
    beside = dict(loc='center left', bbox_to_anchor=(1, 0.5), fontsize=7) if many else {}
    frame = dict(edgecolor='none', framealpha=0.85)  # dims a line below it
    plot.legend([handles[i] for i in order], [labels[i] for i in order], **frame, **beside)
    save_figure(drawing, path)


def save_figure(drawing, path, **options):
    """Writes a matplotlib figure as PNG, whole or not at all.

    Args:
      drawing: a `matplotlib.figure.Figure`.
      path: of the PNG, or gs://bucket/path.
      options: of `Figure.savefig`; 150 dots an inch by default.
    """
    image = io.BytesIO()
    drawing.savefig(image, **{'dpi': 150, **options}, format='png')
    storage.write(storage.path(path), image.getvalue())


def draw_points(plot, places, points, **style):
    """Means over seeds, with a bar from the least to the greatest.

    Args:
      plot: matplotlib axes.
      places: on the x axis.
      points: dicts of `average_over_seeds`.
      style: of `Axes.errorbar`.
    """
    means = np.array([point['mean'] for point in points])
    below = means - [point['least'] for point in points]
    above = [point['greatest'] for point in points] - means
    plot.errorbar(places, means, yerr=[below, above], **{'capsize': 3, **style})


def _values_in_words(values):
    """{axis: value} as 'axis value, axis value'."""
    return ', '.join(f'{name} {value}' for name, value in values.items())


def _draw_line(plot, line, x, label, places, colour):
    """One line with a bar from the least to the greatest seed at each point."""
    line = sorted(line, key=lambda point: places[point[x]] if places else point[x])
    seeds = max(point['seeds'] for point in line)
    label = f'{label or "ours"} (mean of {seeds} seeds)' if seeds > 1 else label or 'ours'
    at = [places[point[x]] if places else point[x] for point in line]
    draw_points(plot, at, line, marker='o', label=label, color=colour)
