"""Optimizers: golden steps, schedules, and life under strict promotion."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.errors import BadInput
from contrastive_jax.training import optimizers


def adam_by_hand(gradients, rates, epsilon):
    """Adam as Kingma and Ba write it, in float64."""
    weight, first, second = 0.0, 0.0, 0.0
    for t, (gradient, rate) in enumerate(zip(gradients, rates, strict=True), 1):
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        corrected = second / (1 - 0.999**t)
        weight -= rate * first / (1 - 0.9**t) / (np.sqrt(corrected) + epsilon)
    return weight


@pytest.mark.parametrize('schedule', ['cosine', 'linear', 'constant'])
def test_adam_follows_its_definition_and_schedule(schedule):
    steps, base = 10, 0.1
    rates = {
        'cosine': [base * (1 + np.cos(np.pi * t / steps)) / 2 for t in range(steps)],
        'linear': [base * (1 - t / steps) for t in range(steps)],
        'constant': [base] * steps,
    }[schedule]
    gradients = np.sin(np.arange(1, steps + 1))
    optimizer = optimizers.adam(learning_rate=base, num_steps=steps, schedule=schedule)
    params = {'w': jnp.zeros(())}
    opt_state = optimizer.init(params)
    for gradient in gradients:
        updates, opt_state = jax.jit(optimizer.update)({'w': jnp.float32(gradient)}, opt_state)
        params = jax.tree.map(jnp.add, params, updates)
    np.testing.assert_allclose(params['w'], adam_by_hand(gradients, rates, 1e-8), rtol=1e-5)


def test_bad_options_are_named():
    with pytest.raises(BadInput, match='config.optimizer.schedule'):
        optimizers.adam(learning_rate=0.1, num_steps=2, schedule='step')
    with pytest.raises(BadInput, match='config.optimizer.learning_rate'):
        optimizers.adam(learning_rate=-0.1, num_steps=2)
