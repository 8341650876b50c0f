"""Optimizers: golden steps, definitions by hand, which parameters decay, bad options."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax import models
from contrastive_jax.errors import BadInput
from contrastive_jax.training import optimizers

W, G = np.array([[0.5, -1.0, 2.0]]), np.array([[0.1, 0.2, -0.3]])


def steps(optimizer, gradients, start=None, value=0.0):
    """The parameters after each update, from zeros or from `start`."""
    params = jax.tree.map(jnp.zeros_like, gradients[0]) if start is None else start
    params = jax.tree.map(jnp.float32, params)
    opt_state, update, seen = optimizer.init(params), jax.jit(optimizer.update), []
    for gradient in gradients:
        gradient = jax.tree.map(jnp.float32, gradient)
        updates, opt_state = update(gradient, opt_state, params, value=jnp.float32(value))
        params = jax.tree.map(jnp.add, params, updates)
        seen.append(params)
    return seen


def shapes_of(model, image_shape):
    """The parameters of a model, as shapes."""
    images = jnp.zeros((2, *image_shape))
    key = jax.random.key(0)
    return jax.eval_shape(lambda: model.init(key, images, train=True)['params'])


def adam_by_hand(gradients, rates, epsilon, weight=0.0, added=0.0, decoupled=0.0):
    """Adam as Kingma and Ba write it, AdamW as Loshchilov and Hutter do, in float64."""
    first, second = 0.0, 0.0
    for t, (gradient, rate) in enumerate(zip(gradients, rates, strict=True), 1):
        gradient = gradient + added * weight
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        corrected = second / (1 - 0.999**t)
        change = first / (1 - 0.9**t) / (np.sqrt(corrected) + epsilon)
        weight = weight - rate * (change + decoupled * weight)
    return weight


@pytest.mark.parametrize('schedule', ['cosine', 'linear', 'constant'])
def test_adam_follows_its_definition_and_schedule(schedule):
    count, base = 10, 0.1
    rates = {
        'cosine': [base * (1 + np.cos(np.pi * t / count)) / 2 for t in range(count)],
        'linear': [base * (1 - t / count) for t in range(count)],
        'constant': [base] * count,
    }[schedule]
    gradients = np.sin(np.arange(1, count + 1))
    optimizer = optimizers.adam(learning_rate=base, num_steps=count, schedule=schedule)
    params = steps(optimizer, [{'w': gradient} for gradient in gradients])[-1]
    np.testing.assert_allclose(params['w'], adam_by_hand(gradients, rates, 1e-8), rtol=1e-5)


@pytest.mark.parametrize(('name', 'form'), [('adam', 'added'), ('adamw', 'decoupled')])
def test_decay_is_in_adams_gradient_and_beside_that_of_adamw(name, form):
    options = dict(learning_rate=0.1, num_steps=5, schedule='constant', weight_decay=0.3)
    gradients = np.sin(np.arange(1, 6))
    tree = [{'kernel': np.full((1, 1), g), 'bias': np.full(1, g)} for g in gradients]
    start = {'kernel': np.ones((1, 1)), 'bias': np.ones(1)}
    made = getattr(optimizers, name)(**options, epsilon=1e-3)
    params = steps(made, tree, start)[-1]
    by_hand = adam_by_hand(gradients, [0.1] * 5, 1e-3, weight=1.0, **{form: 0.3})
    np.testing.assert_allclose(params['kernel'], [[by_hand]], rtol=1e-5)
    without = adam_by_hand(gradients, [0.1] * 5, 1e-3, weight=1.0)
    np.testing.assert_allclose(params['bias'], [without], rtol=1e-5)


def test_lars_takes_the_official_steps():
    # Made by the official code's LARSOptimizer, for a kernel and for a bias.
    golden = {
        'kernel': [
            (0.4997284, -1.0004915, 2.0007243),
            (0.4992122, -1.0014255, 2.0021007),
            (0.4984758, -1.0027581, 2.0040646),
        ],
        'bias': [(0.46, -1.08, 2.12), (0.384, -1.232, 2.348), (0.2756, -1.4488, 2.6732)],
    }
    optimizer = optimizers.lars(
        learning_rate=0.4, num_steps=3, schedule='constant', weight_decay=0.01
    )
    start = {'Dense_0': {'kernel': W}, 'BatchNorm_0': {'bias': W[0], 'scale': W[0]}}
    gradient = {'Dense_0': {'kernel': G}, 'BatchNorm_0': {'bias': G[0], 'scale': G[0]}}
    for k, params in enumerate(steps(optimizer, [gradient] * 3, start)):
        np.testing.assert_allclose(params['Dense_0']['kernel'][0], golden['kernel'][k], atol=1e-7)
        for excluded in params['BatchNorm_0'].values():
            np.testing.assert_allclose(excluded, golden['bias'][k], rtol=2e-7)


def test_lars_moves_a_kernel_of_zeros_at_the_full_rate():
    optimizer = optimizers.lars(
        learning_rate=0.4, num_steps=3, schedule='constant', weight_decay=0.01
    )
    first = steps(optimizer, [{'kernel': G}])[0]
    np.testing.assert_allclose(first['kernel'], -0.4 * G, rtol=1e-6)


@pytest.mark.parametrize('nesterov', [False, True])
@pytest.mark.parametrize('weight_decay', [0.0, 0.05])
def test_sgd_is_that_of_pytorch(nesterov, weight_decay):
    weight, buffer = W.copy(), 0.0
    gradients = [G * np.cos(k) for k in range(4)]
    for gradient in gradients:
        gradient = gradient + weight_decay * weight
        buffer = 0.8 * buffer + gradient
        weight = weight - 0.1 * (gradient + 0.8 * buffer if nesterov else buffer)
    optimizer = optimizers.sgd(
        learning_rate=0.1,
        num_steps=4,
        schedule='constant',
        momentum=0.8,
        nesterov=nesterov,
        weight_decay=weight_decay,
    )
    params = steps(optimizer, [{'bias': gradient} for gradient in gradients], {'bias': W})[-1]
    np.testing.assert_allclose(params['bias'], weight, rtol=1e-6)


@pytest.mark.parametrize('choice', optimizers.WEIGHT_DECAY_ON)
def test_weight_decays_on_the_chosen_parameters_alone(choice):
    shapes = {
        'convnet': shapes_of(models.convnet(), (28, 28, 1)),
        'mlp': shapes_of(models.mlp(widths=(2,), head_widths=(2,)), (3,)),
        'temperature': jax.ShapeDtypeStruct((), 'float32'),
    }
    mask = optimizers.decay_mask(0.1, choice)(shapes)
    seen = set()
    for path, leaf in jax.tree_util.tree_leaves_with_path(mask):
        place = jax.tree_util.keystr(path)
        kind = 'batch_norm' if 'BatchNorm' in place else path[-1].key
        seen.add(kind)
        assert (
            leaf
            is {
                'all': True,
                'no_batch_norm': kind != 'batch_norm',
                'kernels': kind == 'kernel',
            }[choice]
        ), place
    assert seen == {'batch_norm', 'kernel', 'bias', 'temperature'}


def test_a_plateau_of_the_loss_drops_the_rate_and_only_so_often():
    options = dict(num_steps=100, learning_rate=1.0, momentum=0.0, schedule='plateau')
    optimizer = optimizers.sgd(**options, window=2, patience=3, max_drops=2, drop_factor=0.5)
    params = jnp.zeros(())
    opt_state, update = optimizer.init(params), jax.jit(optimizer.update)
    # Falling for 4 windows of 2 steps, below zero, then flat; single steps go up and down.
    values = [-float(min(k // 2, 3)) + (0.4 if k % 2 else -0.4) for k in range(30)]
    rates = []
    for value in values:
        change, opt_state = update(jnp.ones(()), opt_state, params, value=jnp.float32(value))
        rates.append(-float(change))
    # The best window ends with step 7; three windows after it, at step 13, the rate drops.
    assert rates == [1.0] * 13 + [0.5] * 6 + [0.25] * 11


@pytest.mark.parametrize('name', optimizers.__all__)
@pytest.mark.parametrize('schedule', ['plateau', 'step', 'cosine'])
def test_every_optimizer_runs_under_every_schedule(name, schedule):
    extra = {'plateau': dict(window=1), 'step': dict(drops=(0.5,)), 'cosine': {}}[schedule]
    decay = dict(weight_decay=1e-4)
    optimizer = getattr(optimizers, name)(
        learning_rate=0.1, num_steps=4, batch_size=64, warmup=1, schedule=schedule,
        scaling='linear', **extra, **decay,
    )  # fmt: skip
    first, second = steps(optimizer, [{'kernel': G}] * 2, {'kernel': W})
    np.testing.assert_array_equal(first['kernel'], np.float32(W))  # the rate starts at 0
    assert not np.array_equal(second['kernel'], first['kernel'])


@pytest.mark.parametrize(
    ('name', 'options', 'sentence'),
    [
        ('sgd', dict(momentum=1.0), 'momentum is 1.0; it must be at least 0 and below 1'),
        ('sgd', dict(momentum=0.0, nesterov=True), 'momentum is 0.0; it must be positive'),
        ('sgd', dict(nesterov='yes'), "nesterov is 'yes', not one of: False, True"),
        ('sgd', dict(weight_decay=-1e-4), 'weight_decay is -0.0001; it must be at least 0'),
        ('sgd', dict(weight_decay_on='bias'), "weight_decay_on is 'bias', not one of: all, ker"),
        ('adam', dict(epsilon=0.0), 'epsilon is 0.0; it must be positive'),
        ('adamw', dict(weight_decay=float('nan')), 'weight_decay is nan'),
        ('lars', dict(weight_decay=0.0, trust_coefficient=0), 'trust_coefficient is 0'),
        ('lars', dict(weight_decay=True), 'weight_decay is True'),
        ('adam', dict(learning_rate=-0.1), 'learning_rate is -0.1; it must be positive'),
        ('adam', dict(schedule='stairs'), "schedule is 'stairs', not one of: constant, cosine"),
    ],
)
def test_bad_options_are_named(name, options, sentence):
    with pytest.raises(BadInput, match=f'config.optimizer.{sentence}'):
        getattr(optimizers, name)(**{'learning_rate': 0.1, 'num_steps': 2, **options})
