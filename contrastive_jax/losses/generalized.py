"""The generalized contrastive loss: alignment plus a weighted match of a prior distribution."""

import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax.losses import similarities, streaming
from contrastive_jax.losses.any_mesh import any_mesh
from contrastive_jax.losses.sliced_wasserstein import random_projections, sliced_wasserstein

PRIORS = ('uniform_hypersphere', 'uniform_hypercube', 'normal')
DISTRIBUTIONS = ('log_sum_exp', 'sliced_wasserstein')
CONVENTIONS = ('notebook', 'table1')


@any_mesh
def generalized_contrastive(
    z1,
    z2,
    *,
    prior,
    distribution,
    weight,
    temperature=None,
    scale=1.0,
    num_projections=None,
    include_self=True,
    convention='notebook',
    projections='orthogonal',
    key=None,
):
    """Alignment of the two views plus a weighted distance to a prior distribution.

      L = scale ( L_alignment + weight L_distribution )

    Rows are scaled to unit length if and only if the prior is the hypersphere. In the notebook's
    convention L_alignment = 1/(2 n d) sum_i |z1_i - z2_i|^2 (for unit rows (1 - mean cosine) / d),
    and L_distribution is `log_sum_exp_term` or `sliced_wasserstein` over all 2n rows. Table 1 and
    Algorithm 1 as printed have twice that alignment, no - log d, and 2n / d times that distance.
    Because the alignment carries 1/d, a weight here is d times as large in Eq. 4, which is
    `decoupled_nt_xent`.

    Args:
      z1: projections of the first views [n, d], any floating type.
      z2: projections of the second views [n, d]; row i is of the same example as row i of `z1`.
      prior: 'uniform_hypersphere', 'uniform_hypercube' ([-1, 1]^d) or 'normal'.
      distribution: 'log_sum_exp' (hypersphere only) or 'sliced_wasserstein'.
      weight: lambda >= 0 of the distribution term, finite; a JAX array is taken as it is.
      temperature: tau > 0 of 'log_sum_exp', a scalar or one per dimension; None otherwise.
      scale: factor of both terms (the paper uses 1000 where rows are normalised), positive and
        finite; a JAX array is taken as it is.
      num_projections: directions of 'sliced_wasserstein', d by default; None otherwise.
      include_self: whether 'log_sum_exp' has each row among its own candidates; True otherwise.
      convention: 'notebook' or 'table1'.
      projections: 'orthogonal' or 'independent' directions of 'sliced_wasserstein'; 'orthogonal'
        otherwise.
      key: random key, required for 'sliced_wasserstein', which draws the prior and the directions;
        'log_sum_exp' draws nothing and ignores it.

    Returns:
      Float32 scalar, and its parts before weight and scale: `alignment` (squared units of a
      coordinate) and `distribution` (nats, or squared units).

    Raises:
      ValueError: shapes or options that do not fit each other.

    Source: Chen 2021, Eq. 2, Table 1 and Algorithm 1; conventions of its public notebook.
    """
    similarities.check_pairs('generalized_contrastive', z1, z2)
    _check_factors(weight, scale)
    options = dict(
        distribution=distribution, temperature=temperature, num_projections=num_projections,
        include_self=include_self, projections=projections, key=key,
    )  # fmt: skip
    _check_options(prior, convention, **options)
    if prior == 'uniform_hypersphere':
        z1, z2 = similarities.unit_rows(z1), similarities.unit_rows(z2)
    # The rows of a pair beside each other: on several devices none moves.
    rows = similarities.interleaved(z1, z2).astype(jnp.float32)
    dimensions = rows.shape[1]
    alignment = alignment_term(z1, z2)
    term = _distribution_term(rows, prior, **options)
    if convention == 'table1':
        alignment = 2 * alignment
        if distribution == 'log_sum_exp':
            term = term + np.float32(np.log(dimensions))
        else:
            term = term * (rows.shape[0] / dimensions)
    loss = scale * (alignment + weight * term)
    return loss, {'alignment': alignment, 'distribution': term}


@any_mesh
def distribution_matching(
    z,
    *,
    prior,
    distribution,
    temperature=None,
    num_projections=None,
    include_self=True,
    projections='orthogonal',
    key=None,
):
    """The distance to a prior distribution alone, of one view of each example.

    L_distribution of `generalized_contrastive` in the notebook's convention, over the n rows of
    one view. Of two equal views the alignment is 0, and that loss is this one times its weight and
    scale; but 'log_sum_exp' with the row itself is log 2 larger, since every row is there twice,
    and 'sliced_wasserstein' draws a prior of twice the rows.

    Args:
      z: projections [n, d], any floating type, n >= 2. Rows are scaled to unit length if and only
        if the prior is the hypersphere.
      prior: 'uniform_hypersphere', 'uniform_hypercube' ([-1, 1]^d) or 'normal'.
      distribution: 'log_sum_exp' (hypersphere only) or 'sliced_wasserstein'.
      temperature: tau > 0 of 'log_sum_exp', a scalar or one per dimension; None otherwise.
      num_projections: as `generalized_contrastive`.
      include_self: as `generalized_contrastive`.
      projections: as `generalized_contrastive`.
      key: random key, required for 'sliced_wasserstein'.

    Returns:
      Float32 scalar in nats for 'log_sum_exp', in squared units of a coordinate otherwise, and no
      parts.

    Raises:
      ValueError: shapes or options that do not fit each other.

    Source: Chen 2021, Eq. 2 and Appendix B.2 (saturation without the alignment term).
    """
    if z.ndim != 2 or z.shape[0] < 2 or z.shape[1] < 1:
        raise ValueError(f'distribution_matching: z must be [n, d] with n >= 2, got {z.shape}.')
    options = dict(
        distribution=distribution, temperature=temperature, num_projections=num_projections,
        include_self=include_self, projections=projections, key=key,
    )  # fmt: skip
    _check_options(prior, 'notebook', **options)
    rows = similarities.unit_rows(z) if prior == 'uniform_hypersphere' else z
    return _distribution_term(rows.astype(jnp.float32), prior, **options), {}


def alignment_term(z1, z2):
    """Half the mean squared difference of the views, over rows and dimensions.

      L_alignment = 1/(2 n d) sum_i |z1_i - z2_i|^2

    Args:
      z1: [n, d], taken as they are: scale rows to unit length before, where that is wanted.
      z2: [n, d].

    Returns:
      Float32 scalar in squared units of a coordinate; for unit rows (1 - mean cosine) / d. A
      difference above 1e14 counts as 1e14.

    Source: Chen 2021, public notebook; half of Table 1's.
    """
    difference = z1.astype(jnp.float32) - z2.astype(jnp.float32)
    return jnp.mean(similarities.absolute_power(difference, 2)) / 2


def log_sum_exp_term(rows, *, temperature, include_self=True):
    """Mean log-sum-exp of the similarities of all rows, minus log d: the spread on the sphere.

      1/m sum_i log sum_j exp(rows_i . rows_j / tau) - log d

    Args:
      rows: unit rows [m, d] of both views, m >= 2; the gradient is exact for unit rows.
      temperature: tau > 0, a scalar or one per dimension [d].
      include_self: whether the sum has j = i.

    Returns:
      Float32 scalar in nats. The - log d (of the dimensions, not of the rows) only shifts it.

    Source: Chen 2021, Table 1, and its public notebook.
    """
    itself = None
    if include_self:
        # With one temperature a unit row's product with itself is constant. Its gradient would be
        # 1 / tau along the row, which the normalisation takes out again: all that it leaves is
        # rounding, at small temperatures more than the rest of the gradient.
        own = jax.lax.stop_gradient(rows) if jnp.ndim(temperature) == 0 else rows
        own = similarities.scale_by_temperature(own, temperature)
        itself = jnp.sum(jnp.square(own), axis=1)
    rows = similarities.scale_by_temperature(rows, temperature)
    total = streaming.log_sum_exp(rows, exclude_groups_of=1, positives=itself)
    return jnp.mean(total) - np.float32(np.log(rows.shape[1]))


def draw_prior(prior, shape, *, key):
    """Samples of a prior distribution.

    Args:
      prior: 'uniform_hypersphere' (unit rows), 'uniform_hypercube' ([-1, 1]^d) or 'normal'.
      shape: (m, d).
      key: random key.

    Returns:
      [m, d] float32.

    Raises:
      ValueError: an unknown prior.

    Source: Chen 2021, Table 1; the range of the cube is its public notebook's.
    """
    if prior not in PRIORS:
        raise ValueError(f'prior must be one of {PRIORS}, got {prior!r}.')
    if prior == 'uniform_hypercube':
        return jax.random.uniform(key, shape, jnp.float32, -1.0, 1.0)
    samples = jax.random.normal(key, shape, jnp.float32)
    return similarities.unit_rows(samples) if prior == 'uniform_hypersphere' else samples


def _distribution_term(
    rows, prior, *, distribution, temperature, num_projections, include_self, projections, key
):
    """Distance of rows [m, d] to the prior, nats or squared units; options that were checked."""
    if distribution == 'log_sum_exp':
        return log_sum_exp_term(rows, temperature=temperature, include_self=include_self)
    count = rows.shape[1] if num_projections is None else num_projections
    prior_key, projections_key = jax.random.split(key)
    return sliced_wasserstein(
        rows,
        draw_prior(prior, rows.shape, key=prior_key),
        random_projections(rows.shape[1], count, key=projections_key, kind=projections),
    )


def _check_options(
    prior,
    convention,
    *,
    distribution,
    temperature,
    num_projections,
    include_self,
    projections,
    key,
):
    for field, value, choices in (
        ('prior', prior, PRIORS),
        ('distribution', distribution, DISTRIBUTIONS),
        ('convention', convention, CONVENTIONS),
    ):
        if value not in choices:
            raise ValueError(f'{field} must be one of {choices}, got {value!r}.')
    if distribution == 'log_sum_exp' and prior != 'uniform_hypersphere':
        raise ValueError(
            "distribution 'log_sum_exp' needs prior 'uniform_hypersphere', the only one that it "
            f'matches, got {prior!r}.'
        )
    if distribution == 'log_sum_exp' and temperature is None:
        raise ValueError("temperature is required for distribution 'log_sum_exp'.")
    if distribution == 'sliced_wasserstein' and key is None:
        raise ValueError("key is required for distribution 'sliced_wasserstein', which draws.")
    unused = {
        'log_sum_exp': {
            'num_projections': (num_projections, None),
            'projections': (projections, 'orthogonal'),
        },
        'sliced_wasserstein': {
            'temperature': (temperature, None),
            'include_self': (include_self, True),
        },
    }
    for field, (value, default) in unused[distribution].items():
        if not (isinstance(value, type(default)) and value == default):
            raise ValueError(
                f'{field} must be {default!r} for distribution {distribution!r}, which makes no '
                f'use of it, got {value!r}.'
            )


def _check_factors(weight, scale):
    """ValueError for a weight or scale that is a number out of range; arrays may be traced."""
    if not isinstance(weight, jax.Array) and not 0 <= weight < np.inf:
        raise ValueError(f'weight must be finite and at least 0, got {weight}.')
    if not isinstance(scale, jax.Array) and not 0 < scale < np.inf:
        raise ValueError(f'scale must be positive and finite, got {scale}.')
