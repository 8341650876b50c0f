"""Tables 3 and 4 as pictures: the number of digits, and how much larger the second one is."""

from configs.chen2021.multidigits_number import LOSSES, NUMBERS
from configs.chen2021.multidigits_number import PAPER as NUMBER_PAPER
from configs.chen2021.multidigits_number import UNTRAINED as UNTRAINED_PAPER
from configs.chen2021.multidigits_size import FIRST, PAPER, SECOND
from contrastive_jax import reporting
from experiments.chen2021.figures.names import loss_name

UNTRAINED = 'untrained'


def draw_sizes(rows, path):
    """Table 4: a panel for each digit and a line for each loss, ours solid, the paper's dashed.

    Args:
      rows: of results.csv of the sweep of multidigits_size_laptop.py, or of multidigits_size.py.
      path: of the PNG.
    """
    from matplotlib.figure import Figure

    panels = {'first, small digit': 0, 'second digit': 1}
    drawing = Figure(figsize=(9, 4.2), layout='constrained')
    plots = drawing.subplots(1, 2, sharey=True)
    trained = [with_both(row) for row in rows if row['steps']]
    untrained = [both for row in rows if not row['steps'] for both in of_each_size(row, trained)]
    losses = {row['loss']: [] for row in trained} | {UNTRAINED: []}
    for row in trained:
        losses[row['loss']].append(row)
    losses[UNTRAINED] = untrained
    for plot, (title, digit) in zip(plots, panels.items(), strict=True):
        for number, (loss, own) in enumerate(losses.items()):
            if not own:
                continue
            name = UNTRAINED if loss == UNTRAINED else loss_name(loss)
            _draw_line(plot, own, 'ratio', digit, number, name)
            ratios = [size / FIRST for size in SECOND]
            plot.plot(ratios, PAPER[loss][digit], '--', color=f'C{number}', linewidth=1)
        plot.axhline(0.1, color='0.3', linewidth=1, linestyle=':')
        plot.set_title(title)
        plot.set_xlabel('size of the second digit over that of the first')
        plot.set_ylim(0, 1)
        plot.grid(alpha=0.25)
    plots[0].set_ylabel('linear-probe accuracy on one digit')
    drawing.legend(*plots[0].get_legend_handles_labels(), loc='outside lower center', ncols=4)
    drawing.suptitle('What is learned of a small digit beside a large one (dashed: the paper)')
    reporting.save_figure(drawing, path)


def draw_numbers(rows, path):
    """Table 3: a panel for each loss, a line for each placement, ours solid, the paper's dashed.

    Args:
      rows: of results.csv of the sweep of multidigits_number_laptop.py, or of its full form.
      path: of the PNG.
    """
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(9, 4.2), layout='constrained')
    plots = drawing.subplots(1, len(LOSSES), sharey=True)
    untrained = [row['test_accuracy'] for row in rows if not row['steps']]
    for plot, loss in zip(plots, LOSSES, strict=True):
        for number, placement in enumerate(('random', 'grid')):
            own = [
                row for row in rows
                if row['steps'] and (row['loss'], row['data.placement']) == (loss, placement)
            ]  # fmt: skip
            _draw_line(plot, own, 'data.num_digits', 'test_accuracy', number, placement)
            plot.plot(NUMBERS, NUMBER_PAPER[loss, placement], '--', color=f'C{number}', linewidth=1)
        if untrained:
            plot.axhline(sum(untrained) / len(untrained), color='C2', label='untrained')
        plot.axhline(UNTRAINED_PAPER, color='C2', linewidth=1, linestyle='--')
        plot.axhline(0.1, color='0.3', linewidth=1, linestyle=':')
        plot.set_title(loss_name(loss))
        plot.set_xlabel('digits on the canvas in training')
        plot.set_ylim(0, 1)
        plot.grid(alpha=0.25)
    plots[0].set_ylabel('linear-probe accuracy on one digit')
    plots[0].legend(frameon=False)
    drawing.suptitle('What is learned of digits that share a canvas (dashed: the paper)')
    reporting.save_figure(drawing, path)


def _draw_line(plot, rows, x, y, number, label):
    """Means over seeds, with bars to the least and the greatest."""
    points = sorted(reporting.average_over_seeds(rows, [x], y), key=lambda point: point[x])
    at = [point[x] for point in points]
    reporting.draw_points(plot, at, points, marker='o', color=f'C{number}', label=label)


def with_both(row):
    """A row with the accuracy of digit 0 and of digit 1, and the ratio of their sizes."""
    first, second = row['data.sizes']
    own = row['test_accuracy'] if second == first else row[f'test_accuracy_size_{second}']
    return {**row, 'ratio': second / first, 0: row['test_accuracy'], 1: own}


def of_each_size(row, trained):
    """A row of the untrained network as one for each pair of sizes that was trained on."""
    sizes = {tuple(other['data.sizes']) for other in trained}
    return [with_both({**row, 'data.sizes': pair}) for pair in sorted(sizes)]
