"""Figures on random bits that a line for each setting cannot show."""

import numpy as np
from matplotlib.figure import Figure

from configs.chen2021 import label_of
from configs.chen2021.randbit_losses_laptop import METHODS
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
