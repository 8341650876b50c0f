"""Figure B.3: the final loss of the distribution term against the bits of the images."""

import jax
import numpy as np

from configs.chen2021.saturation_laptop import DIMENSIONS, MOST_BITS
from contrastive_jax import losses, reporting
from contrastive_jax.evaluation import log_sum_exp_of_codes
from contrastive_jax.losses import generalized
from experiments.chen2021.claims.saturation import LEFT, saturated_at, sliced_slope

TERM = ('loss.prior', 'loss.distribution', 'loss.temperature')


def draw(rows, path):
    """A panel for each temperature and each prior of the sliced form; a line for each batch.

    Dots are means over seeds with their range; dashed is the idealised encoder, of the sliced form
    the distance of two samples of the prior; a ring where at most a tenth of the fall is left.

    Args:
      rows: of results.csv of the sweep of saturation_laptop.py, or of saturation.py.
      path: of the PNG.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    rows = [{'loss.prior': 'uniform_hypersphere', **row} for row in rows]  # the laptop's only one
    terms = list(dict.fromkeys(tuple(row[field] for field in TERM) for row in rows))
    batches = sorted({row['batch_size'] for row in rows})
    drawing = Figure(figsize=(3.2 * len(terms), 3.6), layout='constrained')
    plots = drawing.subplots(1, len(terms), squeeze=False)
    for plot, term in zip(plots[0], terms, strict=True):
        of_term = [row for row in rows if tuple(row[field] for field in TERM) == term]
        prior, distribution, temperature = term
        for number, batch in enumerate(batches):
            own = [row for row in of_term if row['batch_size'] == batch]
            if not own:
                continue
            _draw_curve(plot, own, batch, f'C{number}')
            if distribution == 'sliced_wasserstein':
                plot.axhline(sliced_floor(batch, prior), ls='--', color=f'C{number}', linewidth=1)
            else:
                bits = np.arange(1, MOST_BITS + 1)
                ideal = [
                    log_sum_exp_of_codes(
                        k, batch, temperature=float(temperature), dimensions=DIMENSIONS
                    )
                    for k in bits.tolist()
                ]
                plot.plot(bits, ideal, '--', color=f'C{number}', linewidth=1)
        sliced = distribution == 'sliced_wasserstein'
        title = rf'LogSumExp, $\tau$ = {temperature}'
        if sliced:
            shape = prior.removeprefix('uniform_')
            title = f'sliced Wasserstein, {shape},\nslope {_mean_slope(of_term):.2f}'
        plot.set_title(title)
        plot.set_xlabel('bits of the images')
        plot.grid(alpha=0.25)
        plot.xaxis.set_major_locator(MaxNLocator(integer=True))
        if sliced:
            plot.set_yscale('log')
    plots[0, 0].set_ylabel('final loss (nats; squared units on the right)')
    plots[0, 0].legend(title='batch', frameon=False)
    drawing.suptitle(
        f'A few bits saturate the distribution term (ring: {LEFT:g} of the fall is left; '
        'dashed: an idealised encoder; on the right two samples of the prior)'
    )
    reporting.save_figure(drawing, path)


def sliced_floor(batch, prior='uniform_hypersphere', draws=8):
    """The sliced Wasserstein distance of two samples of a prior, mean over draws.

    A batch that is a sample of the prior has this loss; one that is spread more evenly could have
    about half of it.
    """

    @jax.jit
    def distance(key):
        sample, own = jax.random.split(key)
        z = generalized.draw_prior(prior, (batch, DIMENSIONS), key=sample)
        return losses.distribution_matching(
            z, prior=prior, distribution='sliced_wasserstein', key=own
        )[0]

    return float(np.mean([distance(key) for key in jax.random.split(jax.random.key(0), draws)]))


def _mean_slope(rows):
    """`sliced_slope`, bits a doubling of the batch, mean over seeds."""
    seeds = {row['seed'] for row in rows}
    slopes = [sliced_slope([row for row in rows if row['seed'] == seed]) for seed in seeds]
    return round(float(np.mean(slopes)), 6) + 0.0


def _draw_curve(plot, rows, batch, colour):
    """Means over seeds, and the ring."""
    points = reporting.average_over_seeds(rows, ['data.num_bits'], 'train_loss')
    points.sort(key=lambda point: point['data.num_bits'])
    bits = [point['data.num_bits'] for point in points]
    means = [point['mean'] for point in points]
    reporting.draw_points(plot, bits, points, fmt='.', capsize=0, color=colour, label=f'{batch:,}')
    where = saturated_at(dict(zip(bits, means, strict=True)))
    plot.plot(where, means[bits.index(where)], 'o', color=colour, markersize=11, fillstyle='none')
