"""Figures on random bits that a line for each setting cannot show."""

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from configs.chen2021 import label_of
from configs.chen2021.randbit_losses_laptop import METHODS
from configs.chen2021.randbit_temperatures_laptop import BY_TEMPERATURE, BY_WEIGHT
from contrastive_jax import reporting


def draw_methods(rows, path):
    """Every method in a row of its own: accuracy without bits and with the most, each seed a dot.

    Args:
      rows: of the sweep of randbit_losses_laptop.
      path: of the PNG.
    """
    label, names = label_of(METHODS), list(METHODS)
    drawing = Figure(figsize=(7, 4.5), layout='constrained')
    plot = drawing.subplots()
    bits = sorted({row['data.num_bits'] for row in rows})
    for place, number in enumerate(bits):
        at = [row for row in rows if row['data.num_bits'] == number]
        plot.plot(
            [row['test_accuracy'] for row in at],
            # The seeds of a method stand one below the other.
            [names.index(label(row)) + (row['seed'] - 1) / 6 for row in at],
            'o', color=f'C{place}', markersize=5, label=f'{number} random bits',
        )  # fmt: skip
    plot.axvline(0.1, color='0.3', linewidth=1, linestyle=':')
    plot.annotate('chance', (0.1, len(names) - 0.5), ha='left', va='bottom', color='0.3')
    plot.set_yticks(np.arange(len(names)), [name.replace('_', ' ') for name in names])
    plot.set_ylim(len(names) - 0.5, -0.5)
    plot.set_xlim(0, 1)
    plot.set_xlabel('linear-probe accuracy on digits, three seeds')
    plot.set_title('Contrastive methods without and with 15 random bits')
    plot.grid(alpha=0.25)
    plot.legend(loc='center', frameon=False)
    reporting.save_figure(drawing, path)


def draw_temperatures(rows, path):
    """Accuracy against the number of bits, by temperature (left) and by weight (right).

    Args:
      rows: of the sweep of randbit_temperatures_laptop.
      path: of the PNG.
    """
    drawing = Figure(figsize=(11, 4.2), layout='constrained')
    panels = drawing.subplots(1, 2, sharey=True)
    shown = {
        'NT-Xent, by temperature': ('temperature', BY_TEMPERATURE),
        'decoupled NT-Xent, by the weight of the spread': ('weight', BY_WEIGHT),
    }
    for plot, (title, (name, losses)) in zip(panels, shown.items(), strict=True):
        for place, (value, loss) in enumerate(losses.items()):
            own = [row for row in rows if row['loss'] == loss]
            points = reporting.average_over_seeds(own, ['data.num_bits'], 'test_accuracy')
            points.sort(key=lambda point: point['data.num_bits'])
            reporting.draw_points(
                plot, [point['data.num_bits'] for point in points], points, marker='o',
                color=colormaps['viridis'](place / len(losses)), label=f'{value:g}',
            )  # fmt: skip
        plot.axhline(0.1, color='0.3', linewidth=1, linestyle=':')
        plot.annotate('chance', (0, 0.1), ha='left', va='top', color='0.3')
        plot.set(title=title, xlabel='random bits beside each image', ylim=(0, 1))
        plot.grid(alpha=0.25)
        plot.legend(title=name, loc='upper left', bbox_to_anchor=(1, 1), frameon=False)
    panels[0].set_ylabel('linear-probe accuracy on digits,\nmean and range of three seeds')
    drawing.suptitle('What random bits leave of the digit, by temperature and by weight')
    reporting.save_figure(drawing, path)
