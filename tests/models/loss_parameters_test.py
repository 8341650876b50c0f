"""The learned temperature, and BYOL's predictor: values, where gradients go, what is learned."""

import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from contrastive_jax import losses
from contrastive_jax.models.heads import ProjectionHead
from contrastive_jax.models.loss_parameters import LearnedTemperature
from contrastive_jax.training.optimizers import lenient

DIMENSIONS = 6
LOSSES = (losses.nt_xent, losses.box_info_nce, losses.anisotropic_info_nce)


def learned_temperature(initial=0.2, dimensions=DIMENSIONS):
    module = LearnedTemperature(dimensions, initial)
    return module, module.init(jax.random.key(0))


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def pairs_that_agree_in(dimensions, pairs=64, noise=2.0):
    first = draw(0, pairs, DIMENSIONS)
    spread = np.where(np.isin(np.arange(DIMENSIONS), dimensions), 0.05, noise)
    return first, first + np.float32(spread) * draw(1, pairs, DIMENSIONS)


@pytest.mark.parametrize('initial', [1e-6, 0.001, 0.07, 1.0, 5.0, 100.0, 1e6])
def test_initial_temperature_is_the_one_asked_for(initial):
    module, variables = learned_temperature(initial)
    temperature = module.apply(variables)
    assert temperature.shape == (DIMENSIONS,)
    assert temperature.dtype == jnp.float32
    np.testing.assert_allclose(temperature, initial, rtol=1e-6)


def test_initial_temperatures_may_differ_by_dimension():
    initial = (0.1, 0.1, 0.2, 0.5, 1.0, 2.0)
    module, variables = learned_temperature(initial)
    np.testing.assert_allclose(module.apply(variables), initial, rtol=1e-6)


@pytest.mark.parametrize(
    'initial', [0.0, -0.1, np.inf, np.nan, 2e6, 1e-7, (0.1, 0.2), (0.1, 0.2, 0.3, 0.4, 0.5, -0.6)]
)
def test_initial_temperature_that_cannot_be_is_named(initial):
    with pytest.raises(ValueError, match=r'initial must be one temperature in \[1e-6, 1e6\] or 6'):
        learned_temperature(initial)


def test_parameter_is_the_free_vector_and_lambda_its_softplus():
    module, variables = learned_temperature()
    assert jax.tree.map(jnp.shape, variables) == {'params': {'free': (DIMENSIONS,)}}
    free = draw(2, DIMENSIONS)
    temperature = module.apply({'params': {'free': free}})
    np.testing.assert_allclose(1 / temperature, np.log1p(np.exp(np.float64(free))), rtol=1e-6)


def objective(loss, z1, z2):
    """Compiled function of the module's variables: the loss, and its gradient."""
    module = LearnedTemperature(DIMENSIONS, 0.2)

    def value(variables):
        return loss(z1, z2, temperature=module.apply(variables))[0]

    return jax.jit(jax.value_and_grad(value))


@pytest.mark.parametrize('loss', LOSSES)
def test_any_free_vector_gives_a_finite_loss_and_gradient(loss):
    step = objective(loss, *pairs_that_agree_in(range(3), pairs=8))
    module, _ = learned_temperature()
    for free in (-3e38, -200.0, -13.8, 0.0, 88.0, 3e38):
        for vector in ([free] * DIMENSIONS, [free, 1, 2, 3, free, 0]):
            variables = {'params': {'free': np.array(vector, np.float32)}}
            value, gradient = step(variables)
            assert np.isfinite(value)
            assert np.isfinite(gradient['params']['free']).all()
            temperature = module.apply(variables)
            assert ((temperature >= 0.999e-6) & (temperature <= 1.001e6)).all()


@pytest.mark.parametrize('loss', LOSSES)
def test_gradient_reaches_every_entry_of_the_free_vector(loss):
    # As difference quotients say, of a step that float32 resolves: error about step^2.
    step = objective(loss, *pairs_that_agree_in(range(3), pairs=8, noise=0.8))
    _, variables = learned_temperature()
    gradient = step(variables)[1]['params']['free']
    assert np.abs(gradient).min() > 1e-5
    for d in range(DIMENSIONS):
        moved = 0.02 * np.eye(DIMENSIONS, dtype=np.float32)[d]
        ends = [
            step({'params': {'free': variables['params']['free'] + sign * moved}})[0]
            for sign in (1, -1)
        ]
        quotient = (ends[0] - ends[1]) / 0.04
        assert abs(quotient - gradient[d]) < 2e-3 * np.abs(gradient).max()


@pytest.mark.parametrize('loss', LOSSES)
@pytest.mark.parametrize('agreeing', [(0, 1, 2), (1, 4, 5)])
def test_dimensions_that_agree_learn_the_smaller_temperature(loss, agreeing):
    # High lambda is low variance between the views of an example: fact sheet of Rusak 2022, 2.1.
    module, variables = learned_temperature()
    value_and_gradient = objective(loss, *pairs_that_agree_in(agreeing))
    optimizer = lenient(optax.adam(0.1))

    @jax.jit
    def train(variables):
        def step(state, _):
            variables, moments = state
            value, gradient = value_and_gradient(variables)
            updates, moments = optimizer.update(gradient, moments)
            return (optax.apply_updates(variables, updates), moments), value

        return jax.lax.scan(step, (variables, optimizer.init(variables)), length=40)

    (variables, _), values = train(variables)
    temperature = np.asarray(module.apply(variables))
    agrees = np.isin(np.arange(DIMENSIONS), agreeing)
    assert values[-1] < values[0]
    assert 2 * temperature[agrees].max() < temperature[~agrees].min()


def predictor(widths=(16, DIMENSIONS)):
    return ProjectionHead(widths, functools.partial(nn.BatchNorm, momentum=0.9))


def test_projection_head_is_byols_predictor():
    # Dense, batch norm, ReLU, dense, by hand.
    z = draw(3, 8, DIMENSIONS)
    module = predictor()
    variables = module.init(jax.random.key(0), z, train=False)
    found, _ = module.apply(variables, z, train=True, mutable=['batch_stats'])
    params = jax.tree.map(np.float64, variables['params'])
    hidden = np.float64(z) @ params['Dense_0']['kernel']
    hidden = (hidden - hidden.mean(0)) / np.sqrt(hidden.var(0) + 1e-5)
    hidden = hidden * params['BatchNorm_0']['scale'] + params['BatchNorm_0']['bias']
    np.testing.assert_allclose(
        found, np.maximum(hidden, 0) @ params['Dense_1']['kernel'], atol=2e-5
    )
    assert set(params) == {'Dense_0', 'BatchNorm_0', 'Dense_1'}


def test_byol_trains_the_predictor_and_the_online_side_only():
    online, target = nn.Dense(DIMENSIONS), nn.Dense(DIMENSIONS)
    head = predictor()
    views = draw(4, 8, 10), draw(5, 8, 10)
    z = jnp.zeros((8, DIMENSIONS))
    variables = {
        'online': online.init(jax.random.key(1), views[0]),
        'predictor': head.init(jax.random.key(2), z, train=False),
        'target': target.init(jax.random.key(3), views[0]),
    }

    def regression(variables):
        projections = [online.apply(variables['online'], view) for view in views]
        targets = [target.apply(variables['target'], view) for view in views]
        predictions, _ = head.apply(
            variables['predictor'], jnp.concatenate(projections), train=True, mutable='batch_stats'
        )
        return losses.byol_regression(*jnp.split(predictions, 2), *targets)[0]

    gradients = jax.jit(jax.grad(regression))(variables)
    largest = {
        side: jax.tree.leaves(jax.tree.map(lambda g: np.abs(g).max(), gradients[side]['params']))
        for side in gradients
    }
    assert max(largest['target']) == 0
    assert min(largest['predictor']) > 1e-4
    # The predictor's batch norm takes the online bias out, so only the kernel is moved.
    assert np.abs(gradients['online']['params']['kernel']).max() > 1e-4
