"""Figure A.2: accuracy, and the spread of z, on the grid of temperature and weight."""

import numpy as np

from contrastive_jax import reporting
from experiments.chen2021.claims.losses import best_weights, ridge_slope


def draw(rows, path):
    """Two heat maps, means over seeds; a cross at the best weight of each temperature.

    Args:
      rows: of results.csv.
      path: of the PNG.
    """
    from matplotlib.figure import Figure

    taus, weights = (
        sorted({row[f'loss.{field}'] for row in rows}) for field in ('temperature', 'weight')
    )
    drawing = Figure(figsize=(10, 4), layout='constrained')
    plots = drawing.subplots(1, 2)
    for plot, (metric, title, colours) in zip(
        plots,
        (
            ('test_accuracy', f'linear-probe accuracy; ridge of slope {ridge_slope(rows):+.2f}', 0),
            ('z_uniformity', 'uniformity of z (nats; lower is more spread)', 1),
        ),
        strict=True,
    ):
        grid = np.full((len(weights), len(taus)), np.nan)
        for point in reporting.average_over_seeds(
            rows, ['loss.temperature', 'loss.weight'], metric
        ):
            place = weights.index(point['loss.weight']), taus.index(point['loss.temperature'])
            grid[place] = point['mean']
        shown = plot.imshow(grid, origin='lower', aspect='auto', cmap=('viridis', 'magma')[colours])
        drawing.colorbar(shown, ax=plot)
        middle = (np.nanmin(grid) + np.nanmax(grid)) / 2
        for (i, j), number in np.ndenumerate(grid):
            plot.text(
                j, i, f'{number:.3f}', ha='center', va='bottom',
                color='black' if number > middle else 'white',
            )  # fmt: skip
        for tau, weight in best_weights(rows).items():
            plot.plot(taus.index(tau), weights.index(weight) - 0.2, 'rx', markersize=9)
        plot.set_xticks(range(len(taus)), [f'{tau:g}' for tau in taus])
        plot.set_yticks(range(len(weights)), [f'{weight:g}' for weight in weights])
        plot.set_xlabel(r'temperature $\tau$')
        plot.set_ylabel(r'weight $\lambda$')
        plot.set_title(title)
    drawing.suptitle('Decoupled NT-Xent; a cross at the best weight of each temperature')
    reporting.save_figure(drawing, path)
