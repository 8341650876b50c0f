"""Factors: how much of each ground-truth latent a linear map reads from the activations."""

import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.rows import checked_rows


def adjusted_r2(activations, latents, *, groups=None, train_share=None):
    """R2 of an ordinary least-squares fit of each latent, plain and adjusted.

      R2 = 1 - sum_i (y_i - f(x_i))^2 / sum_i (y_i - mean y)^2,  f linear with an intercept
      adjusted R2 = 1 - (1 - R2) (n - 1) / (n - p - 1)

    with p the number of regressors, not of latents: the rank of the centred activations, which is
    their width unless some are constant or combinations of others; those bring nothing to the fit
    (it is the least-norm one). Without a split, fitted and scored on the same rows, which should be
    fresh draws. With one, R2 is of rows that the fit did not see: there is nothing to adjust, and
    the adjusted R2 is R2. Computed in float64 on standardised activations.

    Args:
      activations: [n, w] of one layer, arrays of any framework, n - 1 > p.
      latents: [n, k] ground truth, none constant.
      groups: dict of a name to the columns of `latents` in it, such as
        {'content': [0, 1], 'style': [2, 3, 4]}; columns from 0 to k - 1. No name is 'mean' or ends
        in 'adjusted', which the results have taken.
      train_share: None, or the share of the rows, from the first on, that the fit sees; the others
        are scored. Mix rows that have an order before.

    Returns:
      A dict of
        r2, adjusted_r2: [k];
        adjusted_r2_error: [k], standard error of the latter, for scored rows drawn independently;
          rather too large than too small where p is a large part of n. The draw of rows that are
          only fitted is not in it;
        mean_r2, mean_adjusted_r2: plain averages over the latents;
        <group>_r2, <group>_adjusted_r2: averages over a group, its score;
        regressors: p.

    Raises:
      BadInput: shapes or numbers of rows that do not fit, rows that are not finite, a constant
        latent (there is nothing to explain), a group or train_share out of range.

    Source: Rusak et al. 2022, Section 4; Wherry 1931 (adjustment).
    """
    x = checked_rows(activations, 'activations', least=2).astype(np.float64)
    y = checked_rows(latents, 'latents', least=2).astype(np.float64)
    if len(x) != len(y):
        raise BadInput(f'activations and latents have {len(x)} and {len(y)} rows; equal is needed.')
    groups = _checked_groups(groups or {}, y.shape[1])
    fit, score = _split(len(x), train_share)
    predicted, regressors = least_squares(x[fit], y[fit], x[score])
    y = y[score]
    count = len(y)
    if len(x[fit]) - regressors - 1 < 1:
        raise BadInput(
            f'activations have {regressors} regressors and {len(x[fit])} rows; more than '
            'regressors + 1 are needed.'
        )
    spread = np.square(y - y.mean(axis=0))
    constant = np.flatnonzero(np.ptp(y, axis=0) == 0)
    if len(constant):
        raise BadInput(f'latent {constant[0]} is constant over the scored rows.')
    left = np.square(y - predicted)
    r2 = 1 - left.sum(axis=0) / spread.sum(axis=0)
    # How a row moves the ratio; the fit, at its minimum, moves it in second order only.
    moved = (left - (1 - r2) * spread) / spread.mean(axis=0)
    error = np.sqrt(np.mean(np.square(moved), axis=0) / count)
    # Of rows that were fitted the residuals are too small, and fewer than n of them are free.
    stretch = (count - 1) / (count - regressors - 1) if train_share is None else 1.0
    adjusted = 1 - (1 - r2) * stretch
    result = {
        'r2': r2,
        'adjusted_r2': adjusted,
        'adjusted_r2_error': error * stretch**1.5,
        'mean_r2': float(r2.mean()),
        'mean_adjusted_r2': float(adjusted.mean()),
        'regressors': regressors,
    }
    for name, columns in groups.items():
        result[f'{name}_r2'] = float(r2[columns].mean())
        result[f'{name}_adjusted_r2'] = float(adjusted[columns].mean())
    return result


def least_squares(x, y, scored):
    """The linear prediction of y at other rows, and the number of regressors.

    Args:
      x: float64 [n, p], fitted with an intercept.
      y: float64 [n, k].
      scored: float64 [m, p].

    Returns:
      (predictions [m, k], the rank of the centred x).
    """
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    # A constant column is the intercept's; dividing by its zero deviation would say NaN.
    deviation = np.where(deviation > 1e-12 * np.abs(mean), deviation, np.inf)
    solution = np.linalg.lstsq((x - mean) / deviation, y - y.mean(axis=0), rcond=None)
    return ((scored - mean) / deviation) @ solution[0] + y.mean(axis=0), int(solution[2])


def _split(count, train_share):
    """Slices of the rows to fit and of those to score."""
    if train_share is None:
        return slice(None), slice(None)
    if not 0 < train_share < 1:
        raise BadInput(f'train_share is {train_share}; it must be between 0 and 1, or None.')
    train = round(train_share * count)
    if not 2 <= train <= count - 2:
        raise BadInput(
            f'train_share {train_share} of {count} rows leaves {train} to fit and {count - train} '
            'to score; two at least are needed on each side.'
        )
    return slice(train), slice(train, None)


def _checked_groups(groups, latents):
    checked = {}
    for name, columns in groups.items():
        columns = np.asarray(columns)
        inside = columns.ndim == 1 and len(columns) and columns.dtype.kind in 'iu'
        if not inside or np.any((columns < 0) | (columns >= latents)):
            raise BadInput(
                f'groups[{name!r}] must be columns from 0 to {latents - 1}, got {columns.tolist()}.'
            )
        if name == 'mean' or name.endswith('adjusted'):
            raise BadInput(f"groups has {name!r}; no name may be 'mean' or end in 'adjusted'.")
        checked[name] = columns
    return checked
