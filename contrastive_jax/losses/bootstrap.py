"""BYOL: regress the other view's target, with no negatives."""

import jax
import jax.numpy as jnp

from contrastive_jax.losses import similarities
from contrastive_jax.losses.any_mesh import any_mesh


@any_mesh
def byol_regression(predictions1, predictions2, targets1, targets2):
    """Squared distance of each view's unit prediction to the other view's unit target.

      L = 1/(2n) sum_i [ |q(z1_i) - z2'_i|^2 + |q(z2_i) - z1'_i|^2 ] = 2 - 2 (mean cosine)

    The predictor q and the slowly moving target network are the caller's: here are only their
    outputs, and no gradient reaches the targets.

    Args:
      predictions1: q(z1), predictor outputs of the first views [n, d], any floating type.
      predictions2: q(z2), of the second views [n, d].
      targets1: z1', target network's projections of the first views [n, d].
      targets2: z2', of the second views [n, d]; row i of all four is from example i.

    Returns:
      The mean over the 2n predictions in squared units, float32, from 0 to 4, and its parts: the
      mean `cosine`. BYOL prints twice this value, the sum of its two directions.

    Raises:
      ValueError: shapes that differ.

    Source: Grill et al. 2020 (BYOL), Eq. 2.
    """
    similarities.check_pairs(
        'byol_regression', predictions1, targets2, ('predictions1', 'targets2'), fewest=1
    )
    similarities.check_pairs(
        'byol_regression', predictions2, targets1, ('predictions2', 'targets1'), fewest=1
    )
    if predictions1.shape != predictions2.shape:
        raise ValueError(
            'predictions1 and predictions2 must be [n, d] of one shape, '
            f'got {predictions1.shape} and {predictions2.shape}.'
        )
    predictions = similarities.unit_rows(similarities.interleaved(predictions1, predictions2))
    targets = similarities.unit_rows(similarities.interleaved(targets2, targets1))
    cosine = jnp.mean(jnp.sum(predictions * jax.lax.stop_gradient(targets), axis=1))
    # A row of zeros counts as orthogonal to everything.
    return 2 - 2 * cosine, {'cosine': cosine}
