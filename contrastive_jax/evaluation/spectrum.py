"""Singular values: of the embeddings' covariance, and of the kernels of a network."""

import jax
import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.rows import checked_rows, unit_length


def covariance_spectrum(z, *, normalize=False):
    """Singular values of the covariance of the embeddings, falling.

      C = 1 / (n - 1) sum_i (z_i - mean) (z_i - mean)^T

    They are squares of the singular values of the centred rows, which is how they are computed, in
    float64: values far below 1e-16 of the largest keep their digits. Embeddings in float32 have
    noise of about 1e-14 of the largest. Time grows as n d min(n, d).

    Args:
      z: [n, d] embeddings, n >= 2, arrays of any framework.
      normalize: whether rows are scaled to unit length first; a zero row stays zero.

    Returns:
      A dict of
        singular_values: [d], in squared units of the embeddings; those beyond n - 1 are zero;
        log10: [d], their decimal logarithms; zero counts as the smallest positive number, 1e-308.

    Raises:
      BadInput: fewer than two rows, or rows that are not finite.

    Source: Jing et al. 2022, Section 3; Rusak et al. 2022.
    """
    z = checked_rows(z, 'embeddings', least=2).astype(np.float64)
    values = np.zeros(z.shape[1])
    found = singular_values(centred(unit_length(z) if normalize else z))
    values[: len(found)] = found**2 / (len(z) - 1)
    return {
        'singular_values': values,
        'log10': np.log10(np.maximum(values, np.finfo(np.float64).tiny)),
    }


def dimensions_above(spectrum, threshold):
    """How many values of a spectrum exceed `threshold` times the largest.

    Args:
      spectrum: [d] >= 0, such as `covariance_spectrum(z)['singular_values']`.
      threshold: from 0 to 1.

    Returns:
      An integer from 0 to d; 0 where all are zero.

    Raises:
      BadInput: another shape, values that are negative or not finite, or a threshold out of range.
    """
    spectrum = np.asarray(spectrum, np.float64)
    if spectrum.ndim != 1 or not len(spectrum) or not np.all((spectrum >= 0) & (spectrum < np.inf)):
        raise BadInput(
            f'spectrum must be [d] of finite values of at least 0, got shape {spectrum.shape}.'
        )
    if not 0 <= threshold <= 1:
        raise BadInput(f'threshold is {threshold}, outside 0..1.')
    return int(np.sum(spectrum > threshold * spectrum.max()))


def weight_spectrum(params):
    """Singular values of every dense kernel of a network, relative to the largest of its own.

    Args:
      params: a tree of parameters; dense kernels are its leaves [inputs, outputs] named `kernel`.

    Returns:
      A dict from the path, such as 'encoder/Dense_0/kernel', to [min(inputs, outputs)] falling
      from 1; zeros for a kernel of zeros.

    Raises:
      BadInput: no dense kernel, or one that is not finite (where it is).

    Source: Rusak et al. 2022, Figure 1.
    """
    spectra = {}
    for path, leaf in jax.tree.leaves_with_path(params):
        name = jax.tree_util.keystr(path, simple=True, separator='/')
        if name.split('/')[-1] != 'kernel' or np.ndim(leaf) != 2:
            continue
        values = singular_values(checked_rows(leaf, f'rows of {name}').astype(np.float64))
        spectra[name] = values / (values[0] or 1.0)
    if not spectra:
        raise BadInput('params hold no dense kernel, a leaf [inputs, outputs] named kernel.')
    return spectra


def squared_singular_values(rows):
    """Of float64 rows [n, d], [min(n, d)] in falling order, by the smaller product with itself.

    Ten times as fast as `singular_values`, but what lies below the rounding of the largest, about
    1e-13 of it, is zero: enough for sums, not for the tail of a spectrum.
    """
    largest = np.max(np.abs(rows)) or 1.0
    rows = rows / largest
    values = np.linalg.eigvalsh(rows.T @ rows if len(rows) > rows.shape[1] else rows @ rows.T)[::-1]
    rounding = len(values) * np.finfo(np.float64).eps * values[0]
    return np.square(largest) * np.where(values > rounding, values, 0.0)


def centred(rows):
    """Rows [n, d] in float64 less their mean: exactly zero where all are equal."""
    # Less the first row before: the rounded mean of equal rows need not be that row.
    shifted = rows - rows[:1]
    return shifted - shifted.mean(axis=0)


def singular_values(matrix):
    """Of a float64 matrix [n, d], [min(n, d)] in falling order."""
    # Out of the product's way, entries whose squares would overflow or underflow.
    largest = np.max(np.abs(matrix))
    if not largest:
        return np.zeros(min(matrix.shape))
    return largest * np.linalg.svd(matrix / largest, compute_uv=False)
