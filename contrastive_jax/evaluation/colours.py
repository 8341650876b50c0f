"""Colour: how much of the colour histogram of an image is read from its embedding."""

import jax.numpy as jnp
import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.factors import least_squares
from contrastive_jax.evaluation.intervals import NORMAL_95
from contrastive_jax.evaluation.rows import checked_rows


def colour_histogram(images, bins=4):
    """The share of pixels in each cell of the colour cube, cut `bins` times along each channel.

    Args:
      images: [n, H, W, 3] in [0, 1], floating.
      bins: b >= 1, along each channel.

    Returns:
      float32 [n, b^3]; each row sums to 1. Cell (r b + g) b + b' holds the colours of the r-th
      part of red, the g-th of green and the b'-th of blue.

    Raises:
      ValueError: another shape, or bins below 1.
    """
    if images.ndim != 4 or images.shape[3] != 3 or bins < 1:
        raise ValueError(f'no histogram of {bins} bins a channel of images of {images.shape}.')
    part = jnp.clip((images * bins).astype(jnp.int32), 0, bins - 1)
    cell = (part[..., 0] * bins + part[..., 1]) * bins + part[..., 2]
    cell = cell.reshape(len(images), -1)
    # One cell after another, so that no array has pixels times cells.
    shares = [jnp.mean((cell == number).astype(jnp.float32), axis=1) for number in range(bins**3)]
    return jnp.stack(shares, axis=1)


def colour_r2(train, train_histograms, test, test_histograms):
    """How much of the variance of colour histograms a linear map reads from embeddings.

      R2 = 1 - sum_ic (y_ic - f_c(x_i))^2 / sum_ic (y_ic - mean_i y_ic)^2

    over test rows i and all cells c together, so that a colour counts as much as it varies; f is
    the least-squares fit, with an intercept, of the training rows.

    Args:
      train: embeddings [n, d], n > d + 1.
      train_histograms: [n, c], as `colour_histogram`.
      test: embeddings [m, d].
      test_histograms: [m, c].

    Returns:
      A dict of floats: `colour_r2`, at most 1 and below 0 where the mean is a better guess, with
      the ends of its 95 % interval for test rows drawn independently, `colour_r2_low` and
      `colour_r2_high`.

    Raises:
      BadInput: shapes that do not fit, too few rows, or test images of one and the same histogram.

    Source: the opening of section 4 of Chen 2021, where the colour distribution is said to
      suppress the class; the measurement is ours.
    """
    x, y, x_test, y_test = (
        checked_rows(rows, name, least=2).astype(np.float64)
        for rows, name in (
            (train, 'train'), (train_histograms, 'train_histograms'), (test, 'test'),
            (test_histograms, 'test_histograms'),
        )
    )  # fmt: skip
    if len(x) != len(y) or len(x_test) != len(y_test) or len(x) < x.shape[1] + 2:
        raise BadInput(
            f'{len(x)} and {len(x_test)} embeddings of {x.shape[1]} dimensions do not go with '
            f'{len(y)} and {len(y_test)} histograms; to fit, {x.shape[1] + 2} rows are needed.'
        )
    spread = np.square(y_test - y_test.mean(axis=0)).sum(axis=1)
    if not spread.any():
        raise BadInput('test_histograms are all the same: there is nothing to explain.')
    left = np.square(y_test - least_squares(x, y, x_test)[0]).sum(axis=1)
    r2 = 1 - left.sum() / spread.sum()
    moved = (left - (1 - r2) * spread) / spread.mean()
    half = NORMAL_95 * np.sqrt(np.mean(np.square(moved)) / len(moved))
    ends = {'': r2, '_low': r2 - half, '_high': r2 + half}
    return {f'colour_r2{end}': float(value) for end, value in ends.items()}
