"""InfoNCE with a weight for each dimension of the squared distance (AnInfoNCE)."""

import jax
import jax.numpy as jnp

from contrastive_jax.losses import similarities, streaming
from contrastive_jax.losses.any_mesh import any_mesh
from contrastive_jax.losses.infonce import ROUNDING


@any_mesh
def anisotropic_info_nce(z1, z2, *, temperature):
    """InfoNCE of weighted squared distances, for one temperature a dimension, fixed or learned.

    With u the 2n unit rows of both views, p(i) the other view of row i and lambda_d = 1 / tau_d,

      L = 1/(2n) sum_i [ D(u_i, u_p(i)) + log sum_{k != i} exp -D(u_i, u_k) ],
      D(a, b) = 1/2 sum_d lambda_d (a_d - b_d)^2

    On the sphere |a - b|^2 / 2 = 1 - a.b: with one temperature for all dimensions, and no zero
    row, this is `nt_xent`, in value and gradient. With different ones it is not, for there the
    candidates' squared lengths sum_d lambda_d u_d^2 differ.

    Args:
      z1: projections of the first views [n, d], n >= 2, any floating type.
      z2: projections of the second views [n, d]; row i is of the same example as row i of `z1`.
      temperature: tau > 0, a scalar or [d]. A JAX array (a learned temperature, as of
        `models.loss_parameters.LearnedTemperature`) counts as 1e-6 where it is smaller.

    Returns:
      The mean over the 2n anchors (2n - 1 candidates each) in nats, float32, and its parts:
      `alignment` (the mean D of the pairs) and `log_sum_exp` (the rest), which add up to it, and
      `accuracy`, the share of anchors whose positive is nearer than every negative (ties count as
      misses), in [0, 1]. At chance it is log(2n - 1).

    Raises:
      ValueError: shapes that do not fit, fewer than 2 pairs, a temperature that is not positive or
        has the wrong length.

    Source: the AnInfoNCE form of the learned temperature of Rusak 2022, whose own form, of inner
    products, is `nt_xent` with a vector temperature.
    """
    similarities.check_pairs('anisotropic_info_nce', z1, z2)
    first, second = (
        similarities.scale_by_temperature(similarities.unit_rows(rows), temperature)
        for rows in (z1, z2)
    )
    rows = similarities.interleaved(first, second)
    against, largest = streaming.log_sum_exp_and_largest(
        rows, exclude_groups_of=2, similarity=_negative_half_squared_distances
    )
    positive = jnp.repeat(-jnp.sum(jnp.square(first - second), axis=1) / 2, 2)
    loss = jnp.mean(jax.nn.softplus(against - positive))
    alignment = -jnp.mean(positive)
    # A distance is as exact as the products that it is the difference of.
    rounding = ROUNDING * (_half_squared_lengths(rows) + jnp.abs(largest))
    accuracy = jnp.mean((positive - largest > rounding).astype(jnp.float32))
    parts = {'alignment': alignment, 'log_sum_exp': loss - alignment, 'accuracy': accuracy}
    return loss, parts


def _negative_half_squared_distances(rows, columns):
    """-|r - c|^2 / 2 of all pairs [n, m].

    From inner products, a ninth of the time of the differences. The digits that this loses where
    rows are close to each other are those that the logits of `nt_xent` lack too.
    """
    lengths = _half_squared_lengths(rows)[:, None] + _half_squared_lengths(columns)[None, :]
    return similarities.inner_products(rows, columns) - lengths


def _half_squared_lengths(rows):
    return jnp.sum(jnp.square(rows), axis=1) / 2
