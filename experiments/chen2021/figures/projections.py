"""Figure A.1: histograms of random orthogonal projections of z, by weight and by temperature."""

import jax
import numpy as np

from contrastive_jax import reporting, storage
from contrastive_jax.evaluation import random_projection_histogram

DIRECTIONS, BINS = 4, 40
PRIOR = 'uniform_hypersphere'


def draw(rows, path):
    """Of the first seed, the runs of SWD by weight above and those of NT-Xent below.

    The encoders are read from the runs' own directories. Where those are gone nothing is drawn,
    and a picture that is there stays.

    Args:
      rows: of results.csv.
      path: of the PNG.
    """
    from contrastive_jax.training.embedding import embeddings_of_run

    first = min(row['seed'] for row in rows)
    rows = [row for row in rows if row['seed'] == first]
    for row in rows:
        if not (storage.path(row['workdir']) / 'config.json').exists():
            print(f'{path} is not drawn anew: its encoders, such as {row["workdir"]}, are gone.')
            return
    sliced = [row for row in rows if row['loss.distribution'] == 'sliced_wasserstein']
    kernel = [row for row in rows if row['loss.distribution'] == 'log_sum_exp']
    settings = [
        (rf'SWD, $\lambda$ = {row["loss.weight"]:g}', row)
        for row in sorted(sliced, key=lambda row: row['loss.weight'])
    ] + [
        (rf'NT-Xent, $\tau$ = {row["loss.temperature"]:g}', row)
        for row in sorted(kernel, key=lambda row: -row['loss.temperature'])
    ]
    draw_panels(
        {title: embeddings_of_run(row['workdir'], 'test').z for title, row in settings}, path
    )


def draw_panels(projections, path):
    """A column of panels for each set of z, a direction each; the uniform sphere's as a line.

    Args:
      projections: dict of title to z [n, d].
      path: of the PNG.
    """
    from matplotlib.figure import Figure

    size = (1.9 * len(projections), 1.3 * DIRECTIONS + 1)
    drawing = Figure(figsize=size, layout='constrained')
    plots = drawing.subplots(DIRECTIONS, len(projections), sharex=True, squeeze=False)
    for column, (title, z) in zip(plots.T, projections.items(), strict=True):
        found = random_projection_histogram(
            z, jax.random.key(0), prior=PRIOR, num_projections=max(DIRECTIONS, 16), bins=BINS
        )
        centres = (found['edges'][1:] + found['edges'][:-1]) / 2
        for plot, density in zip(column, found['densities'], strict=False):
            plot.bar(centres, density, width=np.diff(found['edges']), color='C0')
            plot.plot(centres, found['prior_density'], color='0.3', linewidth=1)
            plot.set_yticks([])
        column[0].set_title(f'{title}\n{found["ratio"]:.1f} x sampling', fontsize=9)
    drawing.suptitle(
        'Random projections of z of test images (bars) and of a uniform sphere (line);\n'
        'their distance in units of that of two samples of the sphere',
        fontsize=10,
    )
    reporting.save_figure(drawing, path, dpi=130)
