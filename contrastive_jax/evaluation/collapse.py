"""Collapse: embeddings that all agree, or that use few of their dimensions."""

import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.rows import checked_rows, unit_length
from contrastive_jax.evaluation.spectrum import (
    centred,
    covariance_spectrum,
    dimensions_above,
    squared_singular_values,
)

# A direction counts as active where it holds more than this share of the variance of the first:
# a thousandth of its deviation. Float32 noise is at 1e-14.
ACTIVE = 1e-6

# Complete collapse: unit rows deviate by less than a tenth of what centred ones would, a mean
# cosine of 0.99 and more. The most crowded trained network in Lee et al. 2023, Tables IV to IX, has
# a mean cosine of 0.94 within a class, and an untrained convnet on digits a deviation of 0.4.
COLLAPSED_DEVIATION = 0.1

# Dimensional collapse: fewer than half of the possible directions are active. Trained networks that
# are of use have some dead directions too (Jing et al. 2022): a stricter share would warn of them.
COLLAPSED_SHARE = 0.5

# Or one direction holds nearly all variance: 1.5 is 86 % in one of two, and 95 % in one of 128.
COLLAPSED_RANK = 1.5

# Of the power-law fit: eigenvalues below this share of the largest are rounding.
FITTED = 1e-12


def effective_rank(z):
    """Exponential of the entropy of the covariance's normalised singular values.

      exp( -sum_k p_k log p_k ),  p_k = lambda_k / sum_l lambda_l

    with lambda_k the singular values of the centred covariance, see `covariance_spectrum`: k where
    k directions hold equal variance. (`rankme` takes the singular values of the rows themselves,
    roots of those and not centred, and is larger for the same rows.)

    Args:
      z: [n, d] embeddings, n >= 2, arrays of any framework; not normalised here.

    Returns:
      A float from 1 to min(n - 1, d); 0 where all rows are equal.

    Raises:
      BadInput: fewer than two rows, or rows that are not finite.

    Source: Roy and Vetterli 2007, of the covariance matrix.
    """
    z = checked_rows(z, 'embeddings', least=2).astype(np.float64)
    return _rank_of(squared_singular_values(centred(z)))


def rankme(z, *, epsilon=1e-7):
    """RankMe: exponential of the entropy of the rows' normalised singular values, not centred.

      exp( -sum_k p_k log p_k ),  p_k = sigma_k / sum_l sigma_l + epsilon

    Args:
      z: [n, d] embeddings, n >= 2, arrays of any framework; not normalised here. The paper takes
        25,600 rows; fewer than some times d bias it downwards.
      epsilon: added to each share, as published.

    Returns:
      A float, from about 1 to min(n, d); about 1 where all rows are zero.

    Raises:
      BadInput: fewer than two rows, rows that are not finite, or epsilon not positive.

    Source: Garrido et al. 2023, Eq. 1.
    """
    if not 0 < epsilon < 1:
        raise BadInput(f'epsilon is {epsilon}; it must be above 0 and below 1.')
    z = checked_rows(z, 'embeddings', least=2).astype(np.float64)
    values = np.sqrt(squared_singular_values(z))
    shares = values / (np.sum(values) or 1.0) + epsilon
    return float(np.exp(-np.sum(shares * np.log(shares))))


def alpha_req(z, *, first=11, last=500):
    """Decay of the covariance's eigenvalues: alpha where they fall as rank^-alpha.

    The slope of a straight line through (log rank, -log eigenvalue), least squares with equal
    weights, over the ranks `first` to `last`, of which those count that exist and whose eigenvalue
    is above 1e-12 of the largest. 0 is a flat spectrum; around 1 is the theory's optimum; a large
    one is near to collapse.

    Args:
      z: [n, d] embeddings, n >= 2, arrays of any framework; not normalised here.
      first: the first rank of the fit, from 1. The head of a spectrum follows no power law.
      last: the last rank.

    Returns:
      A float.

    Raises:
      BadInput: as `covariance_spectrum`, or fewer than three eigenvalues to fit.

    Source: Agrawal et al. 2022; the range that of Stringer et al. 2019.
    """
    values = covariance_spectrum(z)['singular_values']
    existing = dimensions_above(values, FITTED)
    if not 1 <= first <= min(last, existing) - 2:
        raise BadInput(
            f'first is {first} and last is {last}, but {existing} eigenvalues are not zero; three '
            'at least must lie from first to last.'
        )
    ranks = np.arange(first, min(last, existing) + 1)
    return float(-np.polyfit(np.log(ranks), np.log(values[ranks - 1]), 1)[0])


def deviation_per_dimension(z):
    """Standard deviation of each dimension of the unit rows.

    1 / sqrt(d) each for uniform rows on the sphere, 0 each where all rows have one direction.

    Args:
      z: [n, d] embeddings, n >= 2, arrays of any framework; a zero row stays zero.

    Returns:
      float64 [d], of the population (divided by n).

    Raises:
      BadInput: fewer than two rows, or rows that are not finite.

    Source: Chen and He 2021 (SimSiam), Section 4.1.
    """
    z = checked_rows(z, 'embeddings', least=2).astype(np.float64)
    return np.sqrt(np.mean(centred(unit_length(z)) ** 2, axis=0))


def collapse_indicators(z):
    """A handful of floats that tell a collapse, cheap enough for every evaluation.

    Two products of [n, d] with itself and two eigenvalue problems of the smaller side; see
    `benchmarks.geometry` for their time.

    Args:
      z: [n, d] embeddings, n >= 2, arrays of any framework.

    Returns:
      A dict of floats:
        deviation: root of the sum over dimensions of the squared `deviation_per_dimension`: 1 for
          unit rows of mean zero, 0 for one direction;
        mean_cosine: over distinct pairs of rows;
        effective_rank, rankme: as the functions;
        first_share: of the variance, in its largest direction; 0 where there is none;
        active_dimensions: directions that hold more than 1e-6 of the variance of the first;
        possible_dimensions: min(n - 1, d), the most that could be.

    Raises:
      BadInput: fewer than two rows, or rows that are not finite.
    """
    z = checked_rows(z, 'embeddings', least=2).astype(np.float64)
    count, dimensions = z.shape
    unit = unit_length(z)
    pairs = np.sum(np.square(unit.sum(axis=0))) - np.sum(np.square(unit))
    values = squared_singular_values(centred(z))
    return {
        'deviation': float(np.sqrt(np.sum(np.square(deviation_per_dimension(z))))),
        'mean_cosine': float(pairs / (count * (count - 1))),
        'effective_rank': _rank_of(values),
        'rankme': rankme(z),
        'first_share': float(values[0] / (values.sum() or 1.0)),
        'active_dimensions': float(dimensions_above(values, ACTIVE)),
        'possible_dimensions': float(min(count - 1, dimensions)),
    }


def collapse_warning(indicators):
    """A sentence where embeddings have collapsed, None where they have not.

    Complete collapse: `deviation` below 0.1, which is a mean cosine above 0.99. Dimensional
    collapse: fewer than half of the possible directions active, or an effective rank below 1.5 of
    four and more. The thresholds are judgements, set to be crossed only where something is wrong;
    the comments beside them say why. No warning is no proof of health: a spectrum that falls
    steeply is left to `effective_rank` and the eye.

    Args:
      indicators: what `collapse_indicators` returns.

    Returns:
      A sentence, or None.
    """
    active, possible = indicators['active_dimensions'], indicators['possible_dimensions']
    rank = indicators['effective_rank']
    if indicators['deviation'] < COLLAPSED_DEVIATION:
        return (
            f'Complete collapse: the embeddings all have nearly one direction (deviation '
            f'{indicators["deviation"]:.2g} of at most 1, below {COLLAPSED_DEVIATION}).'
        )
    if active < COLLAPSED_SHARE * possible:
        return (
            f'Dimensional collapse: {active:.0f} of {possible:.0f} possible directions hold more '
            f'than {ACTIVE:g} of the variance of the first.'
        )
    if possible >= 4 and rank < COLLAPSED_RANK:
        return (
            f'Dimensional collapse: one direction holds {100 * indicators["first_share"]:.0f} % of '
            f'the variance, an effective rank of {rank:.2g} of {possible:.0f}.'
        )
    return None


def _rank_of(values):
    """Exponential of the entropy of values >= 0; 0 where all are zero."""
    total = np.sum(values)
    if not total:
        return 0.0
    shares = values[values > 0] / total
    return float(np.exp(-np.sum(shares * np.log(shares))))
