"""Estimates of mutual information: exact on finite distributions, and the papers' curves."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax import losses
from contrastive_jax.losses.mutual_information import (
    barber_agakov,
    info_nce_bound,
    nwj,
    vince_bound,
)
from contrastive_jax.losses.supervised import cross_entropy

RHO = 0.8
GAUSSIAN = -0.5 * math.log(1 - RHO**2)


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def float32(values):
    return jnp.asarray(values, jnp.float32)


def gaussian_log_ratio(seed, number):
    """log p(x|y) / p(x) of every x and y, for pairs of correlation RHO."""
    x, noise = draw(seed, 2, number)
    y = RHO * x + math.sqrt(1 - RHO**2) * noise
    deviation = x[:, None] - RHO * y[None, :]
    return GAUSSIAN - deviation**2 / (2 * (1 - RHO**2)) + x[:, None] ** 2 / 2


def loop_estimates(scores):
    """NWJ and Barber-Agakov by their sums over the pairs i != j."""
    number = len(scores)
    joint = sum(scores[i, i] for i in range(number)) / number
    partitions = [
        sum(math.exp(scores[i, j]) for i in range(number) if i != j) / (number - 1)
        for j in range(number)
    ]
    return (
        joint - sum(partitions) / number / math.e,
        joint - sum(math.log(partition) for partition in partitions) / number,
    )


def test_estimates_equal_their_loops():
    scores = draw(0, 7, 7)
    expected_nwj, expected_barber_agakov = loop_estimates(scores)
    np.testing.assert_allclose(nwj(float32(scores)), expected_nwj, rtol=1e-6)
    np.testing.assert_allclose(barber_agakov(float32(scores)), expected_barber_agakov, rtol=1e-6)
    # The rows are x and the columns y: Z(y) sums over x.
    assert abs(barber_agakov(float32(scores.T)) - expected_barber_agakov) > 1e-3


def test_gradients_are_those_of_the_loops():
    scores, step = draw(0, 5, 5), 1e-6
    for place, estimate in enumerate((nwj, barber_agakov)):
        expected = np.zeros((5, 5))
        for position in np.ndindex(5, 5):
            move = np.zeros((5, 5))
            move[position] = step
            up, down = loop_estimates(scores + move), loop_estimates(scores - move)
            expected[position] = (up[place] - down[place]) / (2 * step)
        np.testing.assert_allclose(jax.grad(estimate)(float32(scores)), expected, atol=1e-7)


def test_optimal_critics_reach_the_gaussian_value():
    """Wu 2020, Lemmas A.1 and A.2: each at the critic where it is tight."""
    number = 2000
    log_ratio = gaussian_log_ratio(0, number)
    error = np.diagonal(log_ratio).std() / math.sqrt(number)
    known = jnp.zeros(number)
    assert abs(barber_agakov(float32(log_ratio), log_partition=known) - GAUSSIAN) < 4 * error
    assert abs(barber_agakov(float32(log_ratio)) - GAUSSIAN) < 5 * error
    assert abs(nwj(float32(1 + log_ratio)) - GAUSSIAN) < 5 * error
    info_nce = info_nce_bound(cross_entropy(float32(log_ratio), jnp.arange(number))[0], number)
    assert abs(info_nce - GAUSSIAN) < 5 * error
    # Elsewhere they are below: f + c costs e^c - 1 - c in the second, and a weaker critic all.
    shifted = nwj(float32(1.5 + log_ratio))
    np.testing.assert_allclose(GAUSSIAN - shifted, math.exp(0.5) - 1.5, atol=0.1)
    assert nwj(float32(1 + log_ratio / 2)) < GAUSSIAN - 0.05
    assert barber_agakov(float32(log_ratio / 2)) < GAUSSIAN - 0.05
    # And mispaired draws have nothing to tell.
    assert barber_agakov(float32(np.roll(log_ratio, 1, axis=0))) < 0
    assert nwj(float32(1 + np.roll(log_ratio, 1, axis=0))) < 0


def test_what_each_estimate_does_not_see():
    """Barber-Agakov ignores c(y), InfoNCE ignores c(x); NWJ ignores neither."""
    scores = float32(draw(0, 6, 6))
    shift = float32(draw(1, 6))
    np.testing.assert_allclose(
        barber_agakov(scores + shift[None, :]), barber_agakov(scores), atol=1e-6
    )

    def info_nce(scores):
        return info_nce_bound(cross_entropy(scores, jnp.arange(6))[0], 6)

    np.testing.assert_allclose(info_nce(scores + shift[:, None]), info_nce(scores), atol=1e-6)
    assert abs(nwj(scores + shift[:, None]) - nwj(scores)) > 0.01
    # With all Z(y) equal to e the two agree: the inequality behind NWJ is then an equality.
    centred = (
        scores
        - (
            jax.scipy.special.logsumexp(jnp.where(jnp.eye(6, dtype=bool), -jnp.inf, scores), axis=0)
            - math.log(5)
            - 1
        )[None, :]
    )
    np.testing.assert_allclose(nwj(centred), barber_agakov(centred), atol=1e-6)


@pytest.mark.parametrize(
    ('classes', 'pairs', 'bits'),
    [
        (64, 4, 2.734),
        (64, 16, 4.603),
        (64, 256, 6.003),
        (16, 32, 3.966),
        (4, 16, 2.004),
        (10, 4, 2.357),
        (100, 256, 6.633),
        (1000, 512, 9.287),
    ],
)
def test_ideal_class_encoder_curve_in_bits(classes, pairs, bits):
    """Lee 2023: L = E log(1 + 2 Bin(K-1, 1/C)); the estimate may pass log2 C by thousandths."""
    counts = np.arange(pairs)
    log_weights = [
        math.lgamma(pairs)
        - math.lgamma(k + 1)
        - math.lgamma(pairs - k)
        - k * math.log(classes)
        + (pairs - 1 - k) * math.log1p(-1 / classes)
        for k in counts
    ]
    loss = np.sum(np.exp(log_weights) * np.log1p(2 * counts))
    estimate = info_nce_bound(loss, pairs, normalization='log_2k_minus_1', unit='bits')
    np.testing.assert_allclose(estimate, bits, atol=5.1e-4)
    assert estimate < math.log2(classes) + 0.01


def test_nt_xent_of_ideal_class_encoders_follows_the_curve():
    """64 classes would need 64 dimensions; 4 classes and 8 pairs: 1.977 bits."""
    classes = np.random.default_rng(0).integers(0, 4, (3000, 8))
    rows = float32(np.eye(4)[classes])
    batch = jax.jit(jax.vmap(lambda rows: losses.nt_xent(rows, rows, temperature=0.02)[0]))(rows)
    estimates = info_nce_bound(batch, 8, normalization='log_2k_minus_1', unit='bits')
    assert estimates.shape == (3000,)
    assert abs(estimates.mean() - 1.977) < 4 * float(estimates.std()) / math.sqrt(3000)


def test_candidates_of_both_normalizations():
    """log2(2K-1) at K = 2 and 256 (Lee 2023), and log N over banks (Wu 2020)."""
    for pairs, bits in ((2, 1.585), (256, 8.997)):
        estimate = info_nce_bound(0.0, pairs, normalization='log_2k_minus_1', unit='bits')
        np.testing.assert_allclose(estimate, bits, atol=5e-4)
    for size, nats in ((4096, 8.318), (50000, 10.820), (1281167, 14.063)):
        np.testing.assert_allclose(info_nce_bound(0.0, size), nats, atol=5e-4)
    np.testing.assert_allclose(info_nce_bound(math.log(7), 7), 0, atol=1e-6)


def test_vince_with_everything_is_info_nce_and_with_the_hardest_is_lower():
    """Wu 2020, Theorem 4.1: negatives of the largest scores can only lower the estimate."""
    number = 400
    scores = gaussian_log_ratio(1, number)

    def vince(kept):
        """Of each row the positive and its `kept` largest others."""
        others = np.where(np.eye(number, dtype=bool), -np.inf, scores)
        hardest = -np.sort(-others, axis=1)[:, :kept]
        candidates = np.concatenate([np.diagonal(scores)[:, None], hardest], axis=1)
        loss = cross_entropy(float32(candidates), jnp.zeros(number, int))[0]
        return vince_bound(loss, kept + 1)

    estimates = [vince(kept) for kept in (20, 100, 300, number - 1)]
    assert estimates == sorted(estimates)
    everything = cross_entropy(float32(scores), jnp.arange(number))[0]
    np.testing.assert_allclose(estimates[-1], info_nce_bound(everything, number), atol=1e-5)


def test_vince_averages_the_logarithm_of_unequal_sizes():
    sizes = jnp.asarray([1, 4, 16, 0])
    np.testing.assert_allclose(vince_bound(0.5, sizes), math.log(64) / 4 - 0.5, rtol=1e-6)
    np.testing.assert_allclose(vince_bound(0.0, 8, unit='bits'), 3, rtol=1e-6)


def test_bits_are_nats_over_log_2():
    scores = float32(draw(0, 5, 5))
    for estimate in (nwj, barber_agakov):
        np.testing.assert_allclose(
            estimate(scores, unit='bits'), estimate(scores) / math.log(2), rtol=1e-6
        )


@pytest.mark.parametrize('dtype', [jnp.float32, jnp.bfloat16, jnp.float16])
@pytest.mark.parametrize('size', [0.0, 6e4])
def test_extreme_scores_are_finite_float32(dtype, size):
    scores = jnp.zeros((4, 4), dtype).at[0, 1].set(size).at[2].set(-size)
    for estimate in (nwj, barber_agakov):
        value, gradient = jax.value_and_grad(estimate)(scores)
        assert value.dtype == jnp.float32
        assert np.isfinite(value)
        assert np.isfinite(np.asarray(gradient, np.float32)).all()
    assert nwj(jnp.zeros((4, 4))) == np.float32(-1 / math.e)
    assert barber_agakov(jnp.zeros((4, 4))) == 0


def test_bad_input_names_the_field():
    scores = jnp.zeros((4, 4))
    for estimate in (nwj, barber_agakov):
        with pytest.raises(ValueError, match=r'scores must be \[n, n\] with n >= 2'):
            estimate(scores[:3])
        with pytest.raises(ValueError, match=r"unit must be one of .*, got 'bit'"):
            estimate(scores, unit='bit')
    with pytest.raises(ValueError, match='log_partition must have 4 entries'):
        barber_agakov(scores, log_partition=jnp.zeros(3))
    with pytest.raises(ValueError, match=r"normalization must be one of .*, got 'log_n'"):
        info_nce_bound(1.0, 4, normalization='log_n')
    with pytest.raises(ValueError, match='k must be at least 1, got 0'):
        info_nce_bound(1.0, 0)
