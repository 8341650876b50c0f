"""Blocked log-sum-exp against a float64 double loop, on one device and on several."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from contrastive_jax.losses import similarities, streaming


def rows_of(seed, count, dimensions=5, scale=1.0):
    return (scale * np.random.default_rng(seed).standard_normal((count, dimensions))).astype('f4')


def double_loop(rows, columns, group=0, positives=None):
    """Log-sum-exp of each row, and the softmax weights [n, m], in float64."""
    rows, columns = np.float64(rows), np.float64(columns)
    out, weights = np.zeros(len(rows)), np.zeros((len(rows), len(columns)))
    for i, row in enumerate(rows):
        kept = [j for j in range(len(columns)) if not group or i // group != j // group]
        logits = np.array([row @ columns[j] for j in kept])
        every = logits if positives is None else np.append(logits, positives[i])
        largest = every.max()
        out[i] = largest + np.log(np.exp(every - largest).sum())
        weights[i, kept] = np.exp(logits - out[i])
    return out, weights


def close(actual, expected, tolerance=1e-6):
    """Relative to max(1, largest expected entry)."""
    actual, expected = np.float64(actual), np.float64(expected)
    assert np.all(np.isfinite(actual))
    assert np.abs(actual - expected).max() <= tolerance * max(1, np.abs(expected).max())


def value_and_pulled(function, incoming, *arrays):
    """Value, and the gradient of its product with `incoming`, from one compiled program."""

    @jax.jit
    def both(*arrays):
        value, pull_back = jax.vjp(function, *arrays)
        return value, pull_back(incoming)

    return both(*arrays)


# Odd, prime, one block, divisible and not, block larger than n, blocks of one row.
SIZES = [(13, 4), (16, 4), (9, 100), (6, 1), (2, 1), (20, None)]


@pytest.mark.parametrize(('count', 'block'), SIZES)
@pytest.mark.parametrize('group', [0, 1, 2])
def test_rows_against_themselves(count, block, group):
    if group >= count:
        pytest.skip('no column is left')
    rows, incoming = rows_of(count, count), rows_of(1, count)[:, 0]
    expected, weights = double_loop(rows, rows, group)
    value, gradients = value_and_pulled(
        lambda x: streaming.log_sum_exp(x, exclude_groups_of=group, block_size=block),
        incoming,
        rows,
    )
    close(value, expected)
    weights = weights * incoming[:, None]
    close(gradients[0], (weights + weights.T) @ rows)


@pytest.mark.parametrize(('count', 'columns', 'block'), [(13, 9, 4), (3, 20, 8), (20, 3, 8)])
@pytest.mark.parametrize('group', [0, 1, 2])
@pytest.mark.parametrize('with_positives', [False, True])
def test_rows_against_columns(count, columns, block, group, with_positives):
    rows, columns = rows_of(0, count), rows_of(1, columns)
    incoming = rows_of(2, count)[:, 0]
    positives = rows_of(3, count)[:, 0] if with_positives else None
    expected, weights = double_loop(rows, columns, group, positives)

    def function(rows, columns, positives):
        return streaming.log_sum_exp(
            rows, columns, positives=positives, exclude_groups_of=group, block_size=block
        )

    value, (of_rows, of_columns, of_positives) = value_and_pulled(
        function, incoming, rows, columns, positives
    )
    close(value, expected)
    weights = weights * incoming[:, None]
    close(of_rows, weights @ np.float64(columns))
    close(of_columns, weights.T @ np.float64(rows))
    if with_positives:
        close(of_positives, incoming * np.exp(positives - expected))


@pytest.mark.parametrize(('count', 'columns', 'block'), [(13, 9, 4), (3, 20, 8), (8, 8, 8)])
@pytest.mark.parametrize('group', [0, 1])
@pytest.mark.parametrize('devices', [1, 4])
def test_both_ways_in_one_pass(count, columns, block, group, devices):
    rows, columns = rows_of(0, count), rows_of(1, columns)
    incoming = rows_of(2, len(rows))[:, 0], rows_of(3, len(columns))[:, 0]

    def function(rows, columns):
        sides = streaming.log_sum_exp_both_ways(
            rows, columns, exclude_groups_of=group, block_size=block
        )
        total = sum(jnp.sum(side[0] * g) for side, g in zip(sides, incoming, strict=True))
        return total, sides

    step = jax.jit(jax.value_and_grad(function, (0, 1), has_aux=True))
    if devices == 1:
        (_, sides), gradients = step(rows, columns)
    else:
        with jax.set_mesh(mesh_of(devices)):
            (_, sides), gradients = step(rows, columns)
    expected, weights = double_loop(rows, columns, group)
    transposed, back = double_loop(columns, rows, group)
    close(sides[0][0], expected)
    close(sides[1][0], transposed)
    logits = np.float64(rows) @ np.float64(columns).T
    if group:
        np.fill_diagonal(logits, -np.inf)
    close(sides[0][1], logits.max(1))
    close(sides[1][1], logits.max(0))
    weights = weights * incoming[0][:, None] + (back * incoming[1][:, None]).T
    close(gradients[0], weights @ np.float64(columns))
    close(gradients[1], weights.T @ np.float64(rows))


@pytest.mark.parametrize('group', [0, 1, 2])
def test_largest_is_the_largest_logit_that_counts(group):
    rows = rows_of(0, 11)
    logits = np.float64(rows) @ np.float64(rows).T
    numbers = np.arange(11)
    if group:
        logits[numbers[:, None] // group == numbers[None] // group] = -np.inf
    _, largest = streaming.log_sum_exp_and_largest(rows, exclude_groups_of=group, block_size=4)
    close(largest, logits.max(1))


@pytest.mark.parametrize('make', [lambda x: x, np.zeros_like, np.ones_like])
def test_every_temperature_is_safe(make):
    rows = np.array(similarities.unit_rows(make(rows_of(0, 12))))

    @jax.jit
    @jax.value_and_grad
    def function(rows, temperature):
        scaled = similarities.scale_by_temperature(rows, temperature)
        return jnp.sum(streaming.log_sum_exp(scaled, exclude_groups_of=1, block_size=5))

    for temperature in (0.001, 0.02, 0.05, 1.0, 100.0):
        value, gradient = function(rows, np.float32(temperature))
        scaled = np.float64(rows) / np.sqrt(np.float64(temperature))
        expected, weights = double_loop(scaled, scaled, 1)
        close(value, expected.sum())
        # A float32 logit of 1 / tau carries a rounding error of 1e-7 / tau into its exponential.
        tolerance = max(1e-6, 2e-7 / temperature)
        close(gradient, (weights + weights.T) @ rows / temperature, tolerance)


@pytest.mark.parametrize('shape', [(), (5,)])
def test_gradient_of_a_traced_temperature(shape):
    rows = rows_of(0, 10)
    temperature = np.float32(0.2) + np.abs(rows_of(1, 1)[0]) if shape else np.float32(0.3)

    def function(temperature):
        scaled = similarities.scale_by_temperature(rows, temperature)
        return jnp.mean(streaming.log_sum_exp(scaled, exclude_groups_of=1, block_size=4))

    def expected(temperature):
        scaled = np.float64(rows) / np.sqrt(np.float64(temperature))
        return double_loop(scaled, scaled, 1)[0].mean()

    gradient = np.atleast_1d(jax.jit(jax.grad(function))(jnp.asarray(temperature)))
    for position, actual in enumerate(gradient):
        step = np.zeros_like(gradient, np.float64)
        step[position] = 1e-6
        step = step.reshape(shape)
        numeric = (expected(temperature + step) - expected(temperature - step)) / 2e-6
        close(actual, numeric, 1e-5)


def test_another_similarity_with_its_own_gradient():
    rows, columns, incoming = rows_of(0, 7), rows_of(1, 9), rows_of(2, 7)[:, 0]
    similarity = similarities.power_similarity(3)
    difference = np.float64(rows)[:, None] - np.float64(columns)[None]
    logits = -(np.abs(difference) ** 3).sum(-1)
    expected = np.log(np.exp(logits).sum(1))
    weights = incoming[:, None] * np.exp(logits - expected[:, None])
    slopes = -3 * difference**2 * np.sign(difference) * weights[..., None]
    value, pull_back = jax.vjp(
        lambda a, b: streaming.log_sum_exp(a, b, similarity=similarity, block_size=4),
        rows,
        columns,
    )
    close(value, expected)
    close(pull_back(incoming)[0], slopes.sum(1))
    close(pull_back(incoming)[1], -slopes.sum(0))


def mesh_of(devices, shape=None, names=('data',)):
    return jax.make_mesh(
        shape or (devices,), names, (AxisType.Auto,) * len(names), devices=jax.devices()[:devices]
    )


@pytest.mark.parametrize(
    ('count', 'devices', 'in_context'),
    [(16, 2, True), (16, 4, True), (16, 4, False), (13, 4, True), (3, 4, True)],
)
@pytest.mark.parametrize('symmetric', [True, False])
def test_any_number_of_devices_gives_the_same(count, devices, symmetric, in_context):
    rows, columns = rows_of(0, count), None if symmetric else rows_of(1, 11)
    incoming = rows_of(2, count)[:, 0]

    def function(rows, columns):
        out, largest = streaming.log_sum_exp_and_largest(
            rows, columns, exclude_groups_of=1, block_size=2
        )
        return jnp.sum(out * incoming), largest

    arguments = 0 if symmetric else (0, 1)
    step = jax.value_and_grad(function, arguments, has_aux=True)
    expected = step(rows, columns)
    mesh = mesh_of(devices)
    place = NamedSharding(mesh, PartitionSpec('data' if count % devices == 0 else None))
    rows = jax.device_put(rows, place)
    if in_context:
        with jax.set_mesh(mesh):
            actual = jax.jit(step)(rows, columns)
    else:
        actual = jax.jit(step)(rows, columns)
    jax.tree.map(close, actual, expected)


def test_two_mesh_axes_and_a_context_inside_a_users_own_shard_map():
    rows = rows_of(0, 8)
    expected = streaming.log_sum_exp(rows, exclude_groups_of=1)
    with jax.set_mesh(mesh_of(4, (2, 2), ('data', 'model'))):
        close(jax.jit(lambda x: streaming.log_sum_exp(x, exclude_groups_of=1))(rows), expected)
    split = PartitionSpec('data')
    with jax.set_mesh(mesh_of(2)):
        halves = jax.jit(
            jax.shard_map(
                functools.partial(streaming.log_sum_exp, exclude_groups_of=1),
                in_specs=split,
                out_specs=split,
                check_vma=False,
            )
        )(rows)
    own = [streaming.log_sum_exp(half, exclude_groups_of=1) for half in (rows[:4], rows[4:])]
    close(halves, np.concatenate(own))


def test_devices_gather_once_and_never_in_a_loop():
    mesh = mesh_of(4)
    rows = jax.device_put(rows_of(0, 64), NamedSharding(mesh, PartitionSpec('data')))

    def loss(rows):
        return jnp.mean(streaming.log_sum_exp(rows, exclude_groups_of=1, block_size=4))

    with jax.set_mesh(mesh):
        program = jax.jit(jax.value_and_grad(loss)).lower(rows).compile().as_text()
    collectives = {
        name: len(re.findall(rf'= \S+ {name}(?:-start)?\(', program))
        for name in ('all-gather', 'reduce-scatter', 'all-reduce', 'all-to-all')
    }
    assert collectives == {
        'all-gather': 1,
        'reduce-scatter': 1,
        'all-reduce': 1,
        'all-to-all': 0,
    }
    bodies = re.findall(r'body=%([\w.\-]+)', program)
    assert bodies
    for body in bodies:
        text = program.split(f'\n%{body} ')[1].split('\n}')[0]
        assert not re.search('all-gather|all-reduce|reduce-scatter|all-to-all', text)


def test_memory_grows_with_the_rows_not_their_square():
    def temporaries(count):
        rows = jax.ShapeDtypeStruct((count, 16), jnp.float32)
        step = jax.grad(lambda x: jnp.mean(streaming.log_sum_exp(x, exclude_groups_of=1)))
        return jax.jit(step).lower(rows).compile().memory_analysis().temp_size_in_bytes

    small, large = temporaries(4096), temporaries(16384)
    assert large - small <= 8 * (16384 - 4096) * 16 * 4
    assert large < 16384 * 16384 * 4 / 20


def test_products_state_full_precision():
    rows = jax.ShapeDtypeStruct((8, 4), jnp.float32)
    step = jax.value_and_grad(lambda x: jnp.sum(streaming.log_sum_exp(x, block_size=4)))
    products = re.findall(r'.*dot_general.*', jax.jit(step).lower(rows).as_text())
    assert products
    assert all('precision = [HIGHEST, HIGHEST]' in product for product in products)


def test_low_precision_inputs_are_computed_in_float32():
    rows = jnp.asarray(rows_of(0, 9), jnp.bfloat16)
    value = streaming.log_sum_exp(rows, block_size=4)
    assert value.dtype == jnp.float32
    exact = np.asarray(rows, np.float64)
    close(value, double_loop(exact, exact)[0])
    gradient = jax.grad(lambda x: jnp.sum(streaming.log_sum_exp(x, block_size=4)))(rows)
    assert gradient.dtype == jnp.bfloat16


def test_second_derivative_in_reverse_mode():
    rows = rows_of(0, 6)

    def blocked(rows):
        return jnp.sum(streaming.log_sum_exp(rows, exclude_groups_of=1, block_size=4))

    def plain(rows):
        logits = similarities.inner_products(rows, rows)
        logits = jnp.where(jnp.eye(6, dtype=bool), -jnp.inf, logits)
        return jnp.sum(jax.nn.logsumexp(logits, axis=1))

    def squared_gradient(function):
        return jax.jit(jax.grad(lambda x: jnp.sum(jnp.square(jax.grad(function)(x)))))(rows)

    close(squared_gradient(blocked), squared_gradient(plain), 1e-5)


@pytest.mark.parametrize(
    ('arguments', 'options', 'message'),
    [
        ((np.ones((3, 2)), np.ones((3, 4))), {}, r'\(3, 2\) and \(3, 4\)'),
        ((np.ones(3),), {}, 'must be'),
        ((np.ones((3, 2)),), {'block_size': 0}, 'block_size'),
        ((np.ones((1, 2)),), {'exclude_groups_of': 1}, 'column that is left'),
        ((np.ones((2, 2)),), {'exclude_groups_of': 2}, 'column that is left'),
        ((np.ones((2, 2)), np.ones((1, 2))), {'exclude_groups_of': 1}, 'column that is left'),
    ],
)
def test_bad_input_is_named(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        jax.eval_shape(functools.partial(streaming.log_sum_exp, **options), *arguments)
