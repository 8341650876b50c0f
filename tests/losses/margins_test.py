"""The hardest negatives: ties, gradients over several blocks, and what a mesh may change."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType

from contrastive_jax.losses import infonce, margins, whole_rows


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def hard_value_and_gradient(rows, temperature, num_hard):
    """Float64, rows interleaved and of unit length: value and gradient by the products' weights."""
    count = len(rows)
    logits, total, weights = rows @ rows.T / temperature, 0.0, np.zeros((count, count))
    for i in range(count):
        others = [j for j in range(count) if j // 2 != i // 2]
        others.sort(key=lambda j: (-logits[i, j], j))
        kept = [i ^ 1, *others[:num_hard]]
        shares = np.exp(logits[i, kept] - logits[i, kept].max())
        total += np.log(shares.sum()) + logits[i, kept].max() - logits[i, i ^ 1]
        weights[i, kept] = shares / shares.sum()
        weights[i, i ^ 1] -= 1
    gradient = (weights + weights.T) @ rows / (count * temperature)
    return total / count, gradient - rows * np.sum(rows * gradient, axis=1, keepdims=True)


@pytest.mark.parametrize('block', [5, 64])
@pytest.mark.parametrize('num_hard', [1, 3, 20])
@pytest.mark.parametrize('ties', [False, True])
@pytest.mark.parametrize('devices', [1, 4])
def test_value_and_gradient_in_blocks(monkeypatch, block, num_hard, ties, devices):
    monkeypatch.setattr(whole_rows, 'ROWS_AT_A_TIME', block)
    random = np.random.default_rng(0)
    rows = random.standard_normal((22, 6))
    if ties:  # Entries of +-1/2: products are exact, and most are equal.
        rows = np.sign(rows) * (np.arange(6) < 4)
    rows = unit(rows)
    expected, of_rows = hard_value_and_gradient(rows, 0.25, num_hard)

    @jax.jit
    @jax.value_and_grad
    def step(views):
        return margins.in_batch_hard(*views, temperature=0.25, num_hard=num_hard)[0]

    mesh = jax.make_mesh((devices,), ('data',), (AxisType.Auto,), devices=jax.devices()[:devices])
    with jax.set_mesh(mesh):
        value, gradients = step([np.float32(rows[0::2]), np.float32(rows[1::2])])
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    np.testing.assert_allclose(gradients[0], of_rows[0::2], atol=1e-6)
    np.testing.assert_allclose(gradients[1], of_rows[1::2], atol=1e-6)


def test_of_equal_hardest_negatives_the_first_gets_the_gradient():
    # The second pair is one row twice: both of its rows are equally hard for the first pair.
    z1, z2 = np.float32([[1, 0, 0], [0.6, 0.8, 0]]), np.float32([[0, 0, 1], [0.6, 0.8, 0]])
    loss = lambda *views: margins.hardest_negative_triplet(*views)[0]  # noqa: E731
    of_z1, of_z2 = jax.grad(loss, (0, 1))(z1, z2)
    # By hand: only anchor 0 is active: 0.6 beyond 0; the others are at 0 against 0, 0.6 against 1.
    across = np.float32([0.64, -0.48, 0]) / 4  # of e_0, across the row (0.6, 0.8, 0)
    np.testing.assert_allclose(of_z1[1], across, atol=1e-6)
    np.testing.assert_allclose(of_z2[1], np.zeros(3), atol=1e-6)


def test_second_derivative_in_reverse_mode():
    rows = np.float32(np.random.default_rng(0).standard_normal((8, 3)))

    def squared_gradient(function):
        gradient = jax.grad(lambda rows: function(rows, rows * jnp.float32(1.5) + 1)[0])
        return jax.jit(jax.grad(lambda rows: jnp.sum(jnp.square(gradient(rows)))))(rows)

    def hard(z1, z2):
        return margins.in_batch_hard(z1, z2, temperature=0.5, num_hard=14)

    def everyone(z1, z2):
        return infonce.nt_xent(z1, z2, temperature=0.5)

    np.testing.assert_allclose(squared_gradient(hard), squared_gradient(everyone), atol=1e-4)
