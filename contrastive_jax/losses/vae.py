"""The variational autoencoder's loss: the generative contrast to contrastive learning."""

import math

import jax
import jax.numpy as jnp

from contrastive_jax.losses import similarities
from contrastive_jax.losses.any_mesh import any_mesh

LIKELIHOODS = ('bernoulli', 'normal')

# exp of a larger log variance counts as exp of this one, so that float32 does not overflow.
LARGEST_LOG_VARIANCE = 60.0


@any_mesh
def evidence_lower_bound(
    images,
    reconstructions,
    mean,
    log_variance,
    *,
    likelihood='bernoulli',
    standard_deviation=1.0,
    beta=1.0,
):
    """Minus the evidence lower bound, which training minimises.

      L = 1/n sum_i [ -log p(x_i | h_i) + beta KL( N(mean_i, exp(log_variance_i)) || N(0, 1) ) ]

    with one draw h_i of the code, made by the model. beta = 1 is the bound itself.

    Args:
      images: x [n, ...], in [0, 1] for 'bernoulli'.
      reconstructions: decoder outputs, of the shape of `images`: logits for 'bernoulli', means
        for 'normal'.
      mean: of the code given the image [n, k].
      log_variance: of the code given the image [n, k].
      likelihood: 'bernoulli' or 'normal'.
      standard_deviation: of the 'normal' likelihood, > 0.
      beta: weight of the divergence.

    Returns:
      The mean over images of the sum over pixels and code dimensions in nats, float32, and its
      parts `reconstruction` and `divergence` (before beta).

    Raises:
      ValueError: shapes that do not fit, an unknown likelihood, or a deviation not positive.

    Source: Kingma and Welling 2014, Eq. 10; the baseline of Chen 2021, Fig. 7.
    """
    if images.ndim < 2 or images.shape != reconstructions.shape:
        raise ValueError(
            'images and reconstructions must be [n, ...] of one shape, '
            f'got {images.shape} and {reconstructions.shape}.'
        )
    if mean.ndim != 2 or mean.shape != log_variance.shape or len(mean) != len(images):
        raise ValueError(
            f'mean and log_variance must be [n, k] with n = {len(images)}, '
            f'got {mean.shape} and {log_variance.shape}.'
        )
    if likelihood not in LIKELIHOODS:
        raise ValueError(f'likelihood must be one of {LIKELIHOODS}, got {likelihood!r}.')
    if not standard_deviation > 0:
        raise ValueError(f'standard_deviation must be positive, got {standard_deviation}.')
    images, outputs = images.astype(jnp.float32), reconstructions.astype(jnp.float32)
    if likelihood == 'bernoulli':
        surprise = jax.nn.softplus(outputs) - images * outputs
    else:
        squared = similarities.absolute_power((images - outputs) / standard_deviation, 2)
        surprise = squared / 2 + math.log(standard_deviation * math.sqrt(2 * math.pi))
    reconstruction = jnp.sum(surprise) / len(images)
    mean, log_variance = mean.astype(jnp.float32), log_variance.astype(jnp.float32)
    variance = jnp.exp(jnp.minimum(log_variance, LARGEST_LOG_VARIANCE))
    excess = similarities.absolute_power(mean, 2) + variance - 1 - log_variance
    divergence = jnp.sum(excess) / 2 / len(images)
    parts = {'reconstruction': reconstruction, 'divergence': divergence}
    return reconstruction + beta * divergence, parts
