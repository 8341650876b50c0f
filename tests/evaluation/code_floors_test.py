"""The idealised log-sum-exp of codes: closed forms, codes laid out by hand, and its bound."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax import losses
from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import log_sum_exp_of_codes, uniformity_of_sphere

OPTIONS = dict(prior='uniform_hypersphere', distribution='log_sum_exp')


def simplex(count, dimensions):
    rows = np.eye(count) - 1 / count
    rows = np.pad(rows, ((0, 0), (0, dimensions - count)))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_one_code_is_a_batch_at_one_point():
    found = log_sum_exp_of_codes(0, 100, temperature=0.2, dimensions=64)
    assert found == pytest.approx(math.log(100) + 5 - math.log(64))


@pytest.mark.parametrize('temperature', [0.05, 1.0])
@pytest.mark.parametrize('num_bits', [1, 3])
def test_codes_at_the_corners_of_a_simplex_have_it(num_bits, temperature):
    """The mean over batches of drawn codes; a few standard errors."""
    points = simplex(2**num_bits, 16)
    codes = np.random.default_rng(0).integers(2**num_bits, size=(200, 32))
    batches = jnp.asarray(points[codes], jnp.float32)
    options = {**OPTIONS, 'temperature': temperature}
    term = jax.vmap(lambda z: losses.distribution_matching(z, **options)[0])
    found = np.asarray(term(batches), np.float64)
    expected = log_sum_exp_of_codes(num_bits, 32, temperature=temperature, dimensions=16)
    assert found.mean() == pytest.approx(expected, abs=4 * found.std() / math.sqrt(200) + 1e-5)


def test_at_a_small_temperature_only_the_same_code_counts():
    """log M and 1 / tau are left; of batches of two, M is 2 once in 2^k."""
    found = log_sum_exp_of_codes(3, 2, temperature=0.01, dimensions=8)
    assert found == pytest.approx(100 - math.log(8) + math.log(2) / 8, abs=1e-6)


def test_many_bits_are_the_uniform_sphere():
    """Every row is alone: exp(1 / tau), and n - 1 others of the sphere's mean; hardly less."""
    n, tau, d = 50, 0.5, 8
    sphere = uniformity_of_sphere(d, 1 / (2 * tau)) + 1 / tau
    expected = math.log(math.exp(1 / tau) + (n - 1) * math.exp(sphere)) - math.log(d)
    found = log_sum_exp_of_codes(30, n, temperature=tau, dimensions=d)
    assert expected - 0.01 < found <= expected + 1e-9


def test_more_bits_never_cost_and_no_arrangement_is_below():
    values = [log_sum_exp_of_codes(k, 64, temperature=0.5, dimensions=4) for k in range(8)]
    assert all(a >= b for a, b in zip(values, values[1:], strict=False))
    # 16 points in 4 dimensions that descend, and the mean number of rows at one point.
    points = jax.random.normal(jax.random.key(0), (16, 4))

    def energy(points):
        rows = points / jnp.linalg.norm(points, axis=1, keepdims=True)
        return jnp.mean(jnp.exp(rows @ rows.T / 0.5))

    downhill = jax.jit(lambda points: points - 0.3 * jax.grad(energy)(points))
    for _ in range(300):
        points = downhill(points)
    least = (16 * float(energy(points)) - math.exp(2)) / 15
    same = 1 + 63 / 16
    by_hand = math.log(same * math.exp(2) + (64 - same) * least) - math.log(4)
    assert by_hand - 0.05 < values[4] < by_hand


def test_numbers_out_of_range_are_named():
    with pytest.raises(BadInput, match='temperature 0'):
        log_sum_exp_of_codes(1, 2, temperature=0, dimensions=4)
