"""Random projections of the embeddings beside those of a prior: what the eye sees, and how far."""

import jax
import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.rows import checked_rows, unit_length
from contrastive_jax.losses.generalized import PRIORS, draw_prior
from contrastive_jax.losses.similarities import inner_products
from contrastive_jax.losses.sliced_wasserstein import random_projections

# Samples of the prior that stand in for the embeddings: one in twenty exceeds the largest of 19.
FLOOR_DRAWS = 19


def random_projection_histogram(z, key, *, prior, num_projections=None, bins=50):
    """Histogram of random orthogonal projections of the embeddings and of a prior's sample.

    With it the distance of the two,

      W_1 = mean over directions c and ranks r of | (z . w_c)_(r) - (prior . w_c)_(r) |

    of n embeddings and n samples, which is positive for finite n even where the embeddings are
    drawn from the prior. What it is then is the floor: the same number for 19 more samples of the
    prior in place of the embeddings. A distance below `floor_high` is no evidence of a difference,
    and only differences of one-dimensional projections are seen.

    Args:
      z: [n, d] embeddings, n >= 2, arrays of any framework. Rows are scaled to unit length if and
        only if the prior is the hypersphere, as in `losses.generalized_contrastive`.
      key: random key, of the directions and the samples.
      prior: 'uniform_hypersphere', 'uniform_hypercube' ([-1, 1]^d) or 'normal'.
      num_projections: p >= 1, directions in orthogonal bases; None for min(d, 64).
      bins: of equal width, from minus the largest projection to plus it.

    Returns:
      A dict of
        edges: [bins + 1];
        density: [bins], of all projections together;
        densities: [p, bins], of each direction;
        prior_density: [bins], of one sample of the prior in the same directions;
        distance: W_1, in units of the projections;
        floor, floor_high: mean and largest of the 19 distances of samples of the prior; if z were
          another such sample, its distance would exceed `floor_high` once in twenty;
        ratio: distance / floor, about 1 for the prior itself.

    Raises:
      BadInput: fewer than two rows, rows that are not finite, an unknown prior, or a number
        below 1.

    Source: Chen 2021, Figure A.1 (histograms) and Algorithm 1 (directions).
    """
    if prior not in PRIORS:
        raise BadInput(f'prior is {prior!r}; it must be one of {", ".join(PRIORS)}.')
    z = checked_rows(z, 'embeddings', least=2)
    if prior == 'uniform_hypersphere':
        z = unit_length(z)
    for name, value in (('num_projections', num_projections), ('bins', bins)):
        if value is not None and value < 1:
            raise BadInput(f'{name} is {value}; it must be at least 1.')
    directions_key, reference_key, floor_key = jax.random.split(key, 3)
    count = num_projections or min(z.shape[1], 64)
    directions = random_projections(z.shape[1], count, key=directions_key).T

    def sample(key):
        return _project(directions, draw_prior(prior, z.shape, key=key))

    values, reference = _project(directions, z.astype(np.float32)), sample(reference_key)
    floors = [_distance(sample(key), reference) for key in jax.random.split(floor_key, FLOOR_DRAWS)]
    edges, densities, prior_density = _histograms(values, reference, bins)
    distance, floor = _distance(values, reference), float(np.mean(floors))
    return {
        'edges': edges,
        'density': densities.mean(axis=0),
        'densities': densities,
        'prior_density': prior_density,
        'distance': distance,
        'floor': floor,
        'floor_high': max(floors),
        'ratio': distance / floor,
    }


def _project(directions, rows):
    """Projections [p, n], each row in rising order."""
    return np.sort(np.asarray(inner_products(directions, rows)), axis=1)


def _distance(first, second):
    """Mean absolute difference of sorted projections, with sums in float64."""
    return float(np.mean(np.abs(first - second), dtype=np.float64))


def _histograms(values, reference, bins):
    """Edges, the density of each direction, and that of the prior in all of them."""
    largest = max(np.max(np.abs(values)), np.max(np.abs(reference)))
    edges = np.linspace(-float(largest), float(largest), bins + 1)
    densities = [np.histogram(row, edges, density=True)[0] for row in values]
    return edges, np.stack(densities), np.histogram(reference, edges, density=True)[0]
