"""BYOL's regression: closed forms, who is regressed on whom, and where gradients go."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.losses.bootstrap import byol_regression


def draw(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def test_equals_the_loop_over_both_directions():
    predictions1, predictions2, targets1, targets2 = (draw(seed, 5, 4) for seed in range(4))
    total = 0.0
    for prediction, target in [
        *zip(predictions1, targets2, strict=True),
        *zip(predictions2, targets1, strict=True),
    ]:
        prediction, target = np.asarray(prediction, float), np.asarray(target, float)
        difference = prediction / np.linalg.norm(prediction) - target / np.linalg.norm(target)
        total += np.sum(difference**2) / 10
    loss, parts = byol_regression(predictions1, predictions2, targets1, targets2)
    np.testing.assert_allclose(loss, total, rtol=1e-6)
    np.testing.assert_allclose(parts['cosine'], 1 - total / 2, rtol=1e-5)


def test_range_is_zero_to_four_and_each_view_predicts_the_other():
    one, two = draw(0, 6, 3), draw(1, 6, 3)
    np.testing.assert_allclose(byol_regression(two, one, one, two)[0], 0, atol=1e-6)
    np.testing.assert_allclose(byol_regression(-two, -one, 3 * one, two)[0], 4, atol=1e-6)
    assert byol_regression(one, two, one, two)[0] > 0.1
    assert byol_regression(two, one, jnp.roll(one, 1, axis=0), two)[0] > 0.1


def test_gradient_reaches_predictions_only_and_matches_the_closed_form():
    inputs = [draw(seed, 5, 4) for seed in range(4)]

    def loss(*inputs):
        return byol_regression(*inputs)[0]

    gradients = jax.grad(loss, (0, 1, 2, 3))(*inputs)
    assert not np.any(gradients[2])
    assert not np.any(gradients[3])
    # d(2 - 2 cos)/dp = -2 (t - cos p) / |p| on unit p and t, over the 2n predictions.
    length = jnp.linalg.norm(inputs[0], axis=1, keepdims=True)
    unit = inputs[0] / length
    target = inputs[3] / jnp.linalg.norm(inputs[3], axis=1, keepdims=True)
    cosine = jnp.sum(unit * target, axis=1, keepdims=True)
    expected = -2 * (target - cosine * unit) / length / 10
    np.testing.assert_allclose(gradients[0], expected, atol=1e-7)


def test_zero_rows_are_orthogonal_and_finite_in_half_precision():
    zeros = jnp.zeros((3, 4), jnp.bfloat16)
    value, gradient = jax.value_and_grad(lambda p: byol_regression(p, p, zeros + 1, zeros + 1)[0])(
        zeros
    )
    assert value == 2
    assert value.dtype == jnp.float32
    assert np.isfinite(np.asarray(gradient, np.float32)).all()


def test_shapes_that_differ_are_named():
    rows = jnp.ones((4, 3))
    with pytest.raises(ValueError, match='predictions1 and targets2'):
        byol_regression(rows, rows, rows, rows[:3])
    with pytest.raises(ValueError, match='predictions2 and targets1'):
        byol_regression(rows, rows, rows[:3], rows)
    with pytest.raises(ValueError, match='predictions1 and predictions2'):
        byol_regression(rows, rows[:3], rows[:3], rows)
