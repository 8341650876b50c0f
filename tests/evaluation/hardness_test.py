"""Gradient ratios: the gradient of the loss itself, and the identities of Wang 2021."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.evaluation.hardness import hardness


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def similarities(anchors, keys):
    return unit(anchors) @ unit(keys).T


@pytest.mark.parametrize('num_hard', [None, 4])
@pytest.mark.parametrize('temperature', [0.07, 1.0])
def test_ratio_is_that_of_the_gradients_of_the_loss(temperature, num_hard):
    """d/ds of Eq. 1, or of Eq. 9 on the nearest negatives, by automatic differentiation."""
    anchors, keys, index = draw(0, 5, 6), draw(1, 12, 6), np.array([3, 0, 11, 3, 7])
    s = similarities(anchors, keys)
    ratio = hardness(anchors, keys, index, temperature=temperature, num_hard=num_hard)
    for i, positive in enumerate(index):
        negatives = [j for j in range(12) if j != positive]
        hard = sorted(negatives, key=lambda j, i=i: -s[i, j])[:num_hard]
        kept = np.array([positive, *hard])

        def loss(row, kept=kept):
            logits = row[kept] / temperature
            return jax.scipy.special.logsumexp(logits) - logits[0]

        gradient = np.abs(jax.grad(loss)(jnp.asarray(s[i], jnp.float32)))
        expected = gradient / gradient[positive]
        expected[positive] = 0
        np.testing.assert_allclose(ratio['gradient_ratio'][i], expected, atol=2e-6)


def test_ratio_sums_to_one_over_the_negatives_and_is_zero_at_the_positive():
    anchors, keys = draw(0, 9, 4), draw(1, 9, 4)
    ratio = hardness(anchors, keys, temperature=0.1)['gradient_ratio']
    np.testing.assert_allclose(ratio.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(np.diagonal(ratio), 0)


def test_entropy_rises_with_temperature_at_the_rate_of_the_variance():
    """dH/dtau = Var_r(s) / tau^3, exactly."""
    anchors, keys, step = draw(0, 1, 6), draw(1, 40, 6), 1e-4
    for tau in (0.05, 0.3, 1.0):
        result = hardness(anchors, keys, [0], temperature=tau)
        r, s = result['gradient_ratio'][0], similarities(anchors, keys)[0]
        variance = np.sum(r * s**2) - np.sum(r * s) ** 2
        up = hardness(anchors, keys, [0], temperature=tau + step)['entropy']
        down = hardness(anchors, keys, [0], temperature=tau - step)['entropy']
        np.testing.assert_allclose((up - down) / (2 * step), variance / tau**3, rtol=1e-3)


def test_limits_of_the_temperature():
    """The simple loss gives every negative 1/(N-1); a small temperature only those at the top."""
    anchors, keys = draw(0, 1, 4), draw(1, 21, 4)
    simple = hardness(anchors, keys, [5], temperature=math.inf)
    np.testing.assert_allclose(np.delete(simple['gradient_ratio'][0], 5), 1 / 20)
    np.testing.assert_allclose(simple['entropy'], math.log(20))
    np.testing.assert_allclose(simple['effective_negatives'], 20)
    np.testing.assert_allclose(simple['gradient_share'], 0.1)
    nearest = np.argmax(np.delete(similarities(anchors, keys)[0], 5))
    tied = np.concatenate([np.delete(keys, 5, axis=0), [keys[5], np.delete(keys, 5, 0)[nearest]]])
    cold = hardness(anchors, tied, [20], temperature=1e-5)
    np.testing.assert_allclose(cold['entropy'], math.log(2), atol=1e-6)
    np.testing.assert_allclose(cold['effective_negatives'], 2, atol=1e-5)


def test_gradient_share_follows_the_order_of_similarity():
    """30 negatives, 3 a tenth: sums of the sorted ratios; 7 negatives: by shares of 0.7."""
    for count in (30, 7):
        anchors, keys = draw(0, 4, 5), draw(1, count + 1, 5)
        index = np.array([2, 0, 5, count])
        result = hardness(anchors, keys, index, temperature=0.2)
        share = np.zeros(10)
        for i, positive in enumerate(index):
            order = np.argsort(-np.delete(similarities(anchors, keys)[i], positive))
            ranked = np.delete(result['gradient_ratio'][i], positive)[order]
            # Each negative split into ten, so that a tenth of the negatives is `count` of them.
            share += np.repeat(ranked / 10, 10).reshape(10, count).sum(axis=1) / 4
        np.testing.assert_allclose(result['gradient_share'], share, atol=1e-12)
        assert np.all(np.diff(result['gradient_share']) < 0)
        np.testing.assert_allclose(result['gradient_share'].sum(), 1)


def test_hard_loss_keeps_exactly_its_number_on_ties_and_equals_all_with_all():
    anchors, keys = np.ones((2, 3)), np.ones((6, 3))
    tied = hardness(anchors, keys, [0, 4], temperature=0.1, num_hard=2)
    np.testing.assert_array_equal(np.count_nonzero(tied['gradient_ratio'], axis=1), 2)
    np.testing.assert_allclose(tied['effective_negatives'], 2)
    anchors, keys = draw(0, 4, 3), draw(1, 9, 3)
    every = hardness(anchors, keys, [0, 1, 2, 3], temperature=0.1, num_hard=8)
    whole = hardness(anchors, keys, [0, 1, 2, 3], temperature=0.1)
    np.testing.assert_array_equal(every['gradient_ratio'], whole['gradient_ratio'])


def test_takes_arrays_of_any_type_with_zero_and_huge_rows():
    anchors = jnp.asarray(draw(0, 5, 4), jnp.bfloat16).at[1].set(0).at[2].set(1e30)
    result = hardness(anchors, jnp.asarray(draw(1, 5, 4), jnp.float32), temperature=0.001)
    assert all(np.isfinite(value).all() for value in result.values())
    np.testing.assert_allclose(result['gradient_ratio'][1][[0, 2, 3, 4]], 0.25)


def test_bad_input_names_the_field():
    anchors, keys = draw(0, 4, 3), draw(1, 6, 3)
    with pytest.raises(ValueError, match='index is required'):
        hardness(anchors, keys, temperature=0.1)
    with pytest.raises(ValueError, match='index must be 4 integers from 0 to 5'):
        hardness(anchors, keys, [0, 1, 2, 6], temperature=0.1)
    with pytest.raises(ValueError, match='num_hard must be from 1 to 5 negatives, got 6'):
        hardness(anchors, keys, [0, 1, 2, 3], temperature=0.1, num_hard=6)
    with pytest.raises(ValueError, match='temperature must be positive, got 0'):
        hardness(anchors, keys, [0, 1, 2, 3], temperature=0)
    with pytest.raises(ValueError, match='anchors and keys must be'):
        hardness(anchors, keys[:, :2], [0, 1, 2, 3], temperature=0.1)
