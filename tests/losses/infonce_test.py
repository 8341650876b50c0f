"""The InfoNCE family against float64 loops, its closed forms, limits, and golden values."""

import functools
import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from contrastive_jax import sharding
from contrastive_jax.losses import infonce, margins
from tests.losses import infonce_references as references

PAIRS, DIMENSIONS = 7, 5
VECTOR = np.array([0.1, 0.3, 0.2, 0.7, 0.15], np.float32)

# name: loss, reference, options, whether it takes a temperature, number of arrays.
CASES = {
    'nt_xent': ({}, True, 2),
    'nt_xent inner_product': ({'similarity': 'inner_product'}, True, 2),
    'nt_xent standardized': ({'similarity': 'standardized'}, True, 2),
    'nt_xent negatives': ({}, True, 3),
    'nt_xent negatives standardized': ({'similarity': 'standardized'}, True, 3),
    'cross_view_info_nce': ({}, True, 2),
    'decoupled_nt_xent': ({'weight': 0.7}, True, 2),
    'directclr': ({'num_dimensions': 3}, True, 2),
    'sphere_info_nce': ({}, True, 2),
    'box_info_nce': ({}, True, 2),
    'box_info_nce power': ({'power': 3}, True, 2),
    'box_info_nce power 1': ({'power': 1}, True, 2),
    'queue_contrastive': ({}, True, 3),
    'in_batch_simple': ({}, False, 2),
    'in_batch_simple weight': ({'weight': 0.3}, False, 2),
    'in_batch_hard': ({'num_hard': 4}, True, 2),
    'hardest_negative_triplet': ({}, False, 2),
}
WITH_TEMPERATURE = [case for case, (_, takes, _) in CASES.items() if takes]


def function_of(case, module=None):
    """The case as function(arrays, temperature), from the library or from the references."""
    name = case.split()[0]
    options, takes_temperature, _ = CASES[case]
    own = infonce if hasattr(infonce, name) else margins
    function = getattr(module or own, name)

    def call(arrays, temperature):
        arrays = list(arrays)
        named = dict(options)
        if takes_temperature:
            named['temperature'] = temperature
        if 'negatives' in case:
            named['negatives'] = arrays.pop()
        return function(*arrays, **named)

    return call


@functools.cache
def compiled(case, in_mesh=False):
    """(arrays, temperature) -> ((loss, parts), gradients of arrays and temperature)."""
    del in_mesh  # Only to keep the two apart: the mesh in context is read while tracing.
    return jax.jit(jax.value_and_grad(function_of(case), (0, 1), has_aux=True))


def inputs(case, noise=0.5, seed=0):
    """Pairs that lie nearer to each other than to the rest; unit rows where the loss wants them."""
    draw = np.random.default_rng(seed).standard_normal
    first = draw((PAIRS, DIMENSIONS))
    arrays = [first, first + noise * draw(first.shape), draw((6, DIMENSIONS))][: CASES[case][2]]
    if case.startswith(('sphere', 'queue')):
        arrays = [references.unit(rows) for rows in arrays]
    return [rows.astype(np.float32) for rows in arrays]


def temperature_of(case):
    return VECTOR[:3] if case == 'directclr' else VECTOR


def close(actual, expected, tolerance=1e-6):
    actual, expected = np.float64(actual), np.float64(expected)
    assert np.all(np.isfinite(actual))
    assert np.abs(actual - expected).max() <= tolerance * max(1, np.abs(expected).max())


@pytest.mark.parametrize('case', CASES)
@pytest.mark.parametrize('scalar', [True, False])
def test_value_and_gradient_equal_the_double_loop(case, scalar):
    arrays = inputs(case)
    temperature = np.float32(0.3) if scalar else temperature_of(case)
    (loss, _), gradients = compiled(case)(arrays, temperature)
    reference = function_of(case, references)
    assert loss.dtype == jnp.float32
    assert loss.shape == ()
    close(loss, reference(arrays, np.float64(temperature)))
    point = [np.float64(x) for x in (*arrays, temperature)]
    slopes = [*gradients[0], gradients[1]]
    scale = max(np.abs(slope).max() for slope in slopes)
    draw = np.random.default_rng(1)
    for position, slope in enumerate(slopes):
        step = draw.standard_normal(point[position].shape) * 1e-6
        forward, backward = list(point), list(point)
        forward[position] = point[position] + step
        backward[position] = point[position] - step
        numeric = reference(forward[:-1], forward[-1]) - reference(backward[:-1], backward[-1])
        numeric, actual = numeric / 2e-6, np.sum(np.float64(slope) * step) / 1e-6
        assert abs(actual - numeric) <= 2e-6 * max(1, scale) * math.sqrt(step.size)


@pytest.mark.parametrize('case', CASES)
def test_parts_add_up(case):
    (loss, parts), _ = compiled(case)(inputs(case), np.float32(0.3))
    assert all(part.shape == () and part.dtype == jnp.float32 for part in parts.values())
    if case == 'hardest_negative_triplet':
        assert parts['active'] <= 1
        assert parts['alignment'] + parts['hardest_negative'] <= loss
        return
    weight = CASES[case][0]['weight'] if case == 'decoupled_nt_xent' else 1
    first = parts['align' if 'align' in parts else 'alignment']
    (second,) = (parts[name] for name in ('uniform', 'log_sum_exp', 'negatives') if name in parts)
    close(first + weight * second, loss)


@pytest.mark.parametrize('case', CASES)
def test_order_of_the_pairs_is_nothing_and_pairing_is_everything(case):
    arrays = inputs(case)
    (loss, _), _ = compiled(case)(arrays, np.float32(0.3))
    order = np.random.default_rng(2).permutation(PAIRS)
    permuted = [arrays[0][order], arrays[1][order], *arrays[2:]]
    close(compiled(case)(permuted, np.float32(0.3))[0][0], loss)
    mispaired = [arrays[0], np.roll(arrays[1], 1, axis=0), *arrays[2:]]
    assert compiled(case)(mispaired, np.float32(0.3))[0][0] > loss + 0.1


def hostile_inputs(case):
    arrays = inputs(case)
    yield [np.zeros_like(rows) for rows in arrays]
    yield [np.ones_like(rows) for rows in arrays]
    yield [np.concatenate([rows[:1] * 0, rows[1:]]) for rows in arrays]
    if not case.startswith(('sphere', 'queue')):  # Those take unit rows.
        yield [np.concatenate([arrays[0][:1] * np.float32(1e20), arrays[0][1:]]), *arrays[1:]]


@pytest.mark.parametrize('case', CASES)
def test_hostile_rows_are_finite_at_every_temperature(case):
    for arrays in hostile_inputs(case):
        for temperature in (0.001, 0.07, 1.0, 100.0):
            result = compiled(case)(arrays, np.float32(temperature))
            assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(result))


@pytest.mark.parametrize('case', WITH_TEMPERATURE)
def test_a_learned_temperature_at_zero_counts_as_the_smallest(case):
    at_zero = compiled(case)(inputs(case), np.float32(0))
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(at_zero))
    smallest = compiled(case)(inputs(case), np.float32(1e-6))
    close(at_zero[0][0], smallest[0][0])


@pytest.mark.parametrize('case', CASES)
@pytest.mark.parametrize('dtype', [jnp.bfloat16, jnp.float16])
def test_low_precision_inputs_are_computed_in_float32(case, dtype):
    arrays = [jnp.asarray(rows, dtype) for rows in inputs(case)]
    loss, _ = jax.jit(function_of(case))(arrays, np.float32(0.3))
    assert loss.dtype == jnp.float32
    exact = [np.asarray(rows, np.float64) for rows in arrays]
    close(loss, function_of(case, references)(exact, 0.3), 2e-6)


@pytest.mark.parametrize('case', CASES)
@pytest.mark.parametrize('devices', [2, 4])
def test_any_number_of_devices_gives_the_same(case, devices):
    arrays = inputs(case)
    expected = compiled(case)(arrays, np.float32(0.3))
    mesh = jax.make_mesh((devices,), ('data',), (AxisType.Auto,), devices=jax.devices()[:devices])
    # Seven pairs do not divide: the loss must pad and drop rows on its own.
    arrays = [jax.device_put(rows, NamedSharding(mesh, PartitionSpec())) for rows in arrays]
    with jax.set_mesh(mesh):
        actual = compiled(case, in_mesh=True)(arrays, np.float32(0.3))
    scale = max(1, *(np.abs(leaf).max() for leaf in jax.tree.leaves(expected[1])))
    close(actual[0][0], expected[0][0])
    jax.tree.map(lambda a, b: close(a / scale, b / scale), actual[1], expected[1])


@pytest.mark.parametrize('in_context', [True, False])
@pytest.mark.parametrize('case', ['nt_xent', 'box_info_nce', 'in_batch_hard', 'queue_contrastive'])
def test_rows_split_over_devices(case, in_context):
    arrays = [np.concatenate([rows, rows[:1] + np.float32(0.3)]) for rows in inputs(case)[:2]]
    arrays += inputs(case)[2:]
    step = jax.value_and_grad(function_of(case), (0, 1), has_aux=True)
    expected = jax.jit(step)(arrays, np.float32(0.3))
    mesh = jax.make_mesh((4,), ('data',), (AxisType.Auto,))
    split = NamedSharding(mesh, PartitionSpec('data'))
    arrays[:2] = [jax.device_put(rows, split) for rows in arrays[:2]]
    if in_context:
        with jax.set_mesh(mesh):
            actual = jax.jit(step)(arrays, np.float32(0.3))
    else:
        actual = jax.jit(step)(arrays, np.float32(0.3))
    jax.tree.map(close, actual, expected)


@pytest.mark.parametrize('case', ['nt_xent', 'sphere_info_nce', 'in_batch_hard'])
def test_one_gather_and_no_row_moves_otherwise(case):
    mesh = jax.make_mesh((4,), ('data',), (AxisType.Auto,))
    split = NamedSharding(mesh, PartitionSpec('data'))
    rows = jax.ShapeDtypeStruct((64, 8), jnp.float32, sharding=split)
    step = jax.value_and_grad(lambda arrays: function_of(case)(arrays, 0.1), has_aux=True)
    with jax.set_mesh(mesh):
        program = jax.jit(step).lower([rows, rows]).compile().as_text()
    kinds = ('all-gather', 'reduce-scatter', 'all-reduce', 'all-to-all', 'collective-permute')
    counts = [len(re.findall(rf'= .*? {kind}(?:-start)?\(', program)) for kind in kinds]
    assert counts == [1, 1, 1, 0, 0]


@pytest.mark.parametrize('how', ['jit', 'jit in context', 'eager'])
@pytest.mark.parametrize(
    'case', ['nt_xent', 'cross_view_info_nce', 'box_info_nce', 'in_batch_hard']
)
def test_rows_on_explicit_axes(case, how):
    arrays = [np.concatenate([rows, rows[:1] + np.float32(0.3)]) for rows in inputs(case)]
    step = jax.value_and_grad(function_of(case), (0, 1), has_aux=True)
    expected = jax.jit(step)(arrays, np.float32(0.3))
    mesh = jax.make_mesh((4,), ('data',), (AxisType.Explicit,))
    split = NamedSharding(mesh, PartitionSpec('data'))
    arrays = [jax.device_put(rows, split) for rows in arrays]
    if how == 'jit in context':
        with jax.set_mesh(mesh):
            actual = jax.jit(step)(arrays, np.float32(0.3))
    elif how == 'jit':
        actual = jax.jit(step)(arrays, np.float32(0.3))
    else:
        actual = function_of(case)(arrays, np.float32(0.3)), expected[1]
    jax.tree.map(close, actual, expected)


# Fact sheet of Chen 2021, section 1: the official code's values, the sum of its two directions.
GRID = np.sin(0.7 * np.outer(np.arange(1, 9), np.arange(1, 6))).astype(np.float32)
GOLDEN = [
    (0.1, 2.7889638, 6.940197, 5.2611074, 1.9547856),
    (0.2, 2.7484772, 3.424089, 3.3758781, 1.7772310),
    (0.5, 3.1293178, 1.490450, 2.8041248, 1.9855995),
    (1.0, 3.4217234, 0.788560, 2.9978373, 2.2460797),
]


@pytest.mark.parametrize(('temperature', 'cosine', 'norm', 'raw', 'cross_view'), GOLDEN)
def test_golden_values_of_the_official_code(temperature, cosine, norm, raw, cross_view):
    def twice(function, grid, **options):
        return 2 * function(grid[:4], grid[4:], temperature=temperature, **options)[0]

    value, gradient = jax.value_and_grad(lambda grid: twice(infonce.nt_xent, grid))(GRID)
    assert abs(value - cosine) < 1e-6
    # The official code's gradient is itself float32.
    assert abs(np.linalg.norm(gradient) - norm) < 2e-6 * norm
    assert abs(twice(infonce.nt_xent, GRID, similarity='inner_product') - raw) < 1e-6
    assert abs(twice(infonce.cross_view_info_nce, GRID) - cross_view) < 1e-6


def test_golden_log_sum_exp_without_self():
    # Fact sheet of Chen 2021, section 2.
    for temperature, golden in ((0.2, 2.1510938), (1.0, 1.8662328)):
        _, parts = infonce.decoupled_nt_xent(
            GRID[:4], GRID[4:], temperature=temperature, weight=1.0
        )
        assert abs(parts['log_sum_exp'] - golden) < 1e-6


@pytest.mark.parametrize('temperature', [0.05, 0.3, 2.0])
def test_temperature_times_nt_xent_is_the_decoupled_loss(temperature):
    # Chen 2021, Eq. 3 and 4.
    z1, z2 = inputs('nt_xent')
    loss, _ = infonce.nt_xent(z1, z2, temperature=temperature)
    decoupled, _ = infonce.decoupled_nt_xent(z1, z2, temperature=temperature, weight=temperature)
    close(temperature * loss, decoupled)


@pytest.mark.parametrize('temperature', [0.001, 0.1, 10.0])
def test_identical_rows_give_the_log_of_the_candidates(temperature):
    rows = np.ones((PAIRS, DIMENSIONS), np.float32)
    candidates = {
        'nt_xent': 2 * PAIRS - 1,
        'nt_xent negatives': 7,
        'cross_view_info_nce': PAIRS,
        'directclr': PAIRS,
        'sphere_info_nce': PAIRS,
        'box_info_nce': PAIRS,
        'queue_contrastive': 7,
        'in_batch_hard': 5,
    }
    for case, count in candidates.items():
        arrays = [rows, rows, rows[:6]][: CASES[case][2]]
        if case.startswith(('sphere', 'queue')):
            arrays = [references.unit(array).astype(np.float32) for array in arrays]
        (loss, parts), _ = compiled(case)(arrays, np.float32(temperature))
        # Equal logits of 1 / tau differ by their rounding.
        assert abs(loss - math.log(count)) < 1e-6 + 4e-7 / temperature
        assert parts.get('accuracy', 0) == 0


def test_large_temperature_gives_the_log_of_the_candidates_and_the_simple_loss():
    # Wang 2021: tau (L - log N) tends to -(N-1)/N s_pos + 1/N sum s_neg, with next order Var / 2.
    z1, z2 = inputs('nt_xent')
    count, temperature = 2 * PAIRS - 1, 100.0
    loss = references.nt_xent(z1, z2, temperature=temperature)
    simple, _ = margins.in_batch_simple(z1, z2)
    anchors = references.anchors_of(references.unit(z1), references.unit(z2))
    spread = np.mean([np.var([a @ k for k in [p, *others]]) for a, p, others in anchors])
    predicted = (count - 1) / count * np.float64(simple) + spread / (2 * temperature)
    assert abs(temperature * (loss - math.log(count)) - predicted) < 1e-4
    close(infonce.nt_xent(z1, z2, temperature=temperature)[0], loss)

    def scaled(z1):
        return infonce.nt_xent(z1, z2, temperature=1000.0)[0] * 1000 * count / (count - 1)

    direction = jax.grad(lambda z1: margins.in_batch_simple(z1, z2)[0])(z1)
    close(jax.grad(scaled)(z1), direction, 2e-3)


def test_small_temperature_gives_the_triplet_loss():
    # Wang 2021: tau L tends to max(0, s_max - s_pos), within tau log N above.
    z1, z2 = inputs('nt_xent', noise=1.0)
    triplet, parts = margins.hardest_negative_triplet(z1, z2)
    assert 0 < parts['active'] < 1
    for temperature in (0.01, 0.001):
        scaled = temperature * infonce.nt_xent(z1, z2, temperature=temperature)[0]
        assert triplet - 1e-6 <= scaled <= triplet + temperature * math.log(2 * PAIRS - 1)


@pytest.mark.parametrize('similarity', ['inner_product', 'standardized'])
@pytest.mark.parametrize('temperature', [1e-6, 0.1])
@pytest.mark.parametrize('size', [1e20, 1e38])
def test_rows_that_nothing_normalises_are_finite_at_any_size(similarity, temperature, size):
    rows = np.random.default_rng(0).normal(size=(3, 8, 5)).astype(np.float32)
    rows[0, 0] *= np.float32(size)
    rows[1] *= np.float32(size)
    rows[2, 3] *= np.float32(size)
    rows = np.clip(rows, -3e38, 3e38)

    def loss(z1, z2, negatives):
        options = {'temperature': temperature, 'similarity': similarity}
        batch = infonce.nt_xent(z1, z2, **options)[0]
        return batch + infonce.nt_xent(z1, z2, **options, negatives=negatives)[0]

    value, gradients = jax.value_and_grad(loss, (0, 1, 2))(*jnp.asarray(rows))
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradients))


def test_a_pair_far_from_its_negatives_keeps_its_digits():
    # Two orthogonal pairs: L = log(1 + 2 exp(-1 / tau)), far below the rounding of 1 / tau.
    rows = np.eye(2, 4, dtype=np.float32)
    for temperature in (0.05, 0.02):
        loss, parts = infonce.nt_xent(rows, rows, temperature=temperature)
        exact = math.log1p(2 * math.exp(-1 / temperature))
        assert abs(loss - exact) < 1e-4 * exact
        assert parts['accuracy'] == 1


def test_all_negatives_hard_is_nt_xent_and_fewer_are_less():
    # Wang 2021: Hard equals Contrastive with every negative in the set, and lies below otherwise.
    z1, z2 = inputs('nt_xent')
    options = {'temperature': 0.2}
    losses = [
        margins.in_batch_hard(z1, z2, num_hard=count, **options)[0]
        for count in (1, 5, 2 * PAIRS - 2)
    ]
    close(losses[-1], infonce.nt_xent(z1, z2, **options)[0])
    assert losses[0] < losses[1] < losses[2]


def test_ties_do_not_grow_the_hard_set():
    rows = np.ones((5, 3), np.float32)
    loss, _ = margins.in_batch_hard(rows, rows, temperature=0.5, num_hard=2)
    close(loss, math.log(3))


def test_gradient_ratios_are_a_softmax_over_the_negatives():
    # Wang 2021: the gradients with respect to an anchor's logits sum to zero. With orthonormal
    # negatives outside the batch the gradient with respect to the anchor is those logits' own.
    negatives = np.eye(4, 6, dtype=np.float32)
    queries = references.unit(np.random.default_rng(0).standard_normal((1, 6))).astype('f4')
    keys = np.eye(6, dtype=np.float32)[4:5]
    gradient = jax.grad(
        lambda q: infonce.queue_contrastive(q, keys, negatives, temperature=0.2)[0]
    )(queries)[0]
    close(gradient.sum(), 0)
    shares = np.exp(queries[0, :4] / 0.2)
    close(gradient[:4] / -gradient[4], shares / shares.sum())


@pytest.mark.parametrize('classes', [2, 4])
def test_ideal_class_encoder(classes):
    # Lee 2023: with m pairs of an anchor's class in the batch, its loss is log(2m - 1).
    labels = np.random.default_rng(classes).integers(classes, size=16)
    rows = np.eye(classes, dtype=np.float32)[labels]
    loss, _ = infonce.nt_xent(rows, rows, temperature=0.02)
    same = np.array([np.sum(labels == label) for label in labels])
    close(loss, np.mean(np.log(2 * same - 1)))


@pytest.mark.parametrize(('pairs', 'bits'), [(8, 1.977), (16, 2.004)])
def test_ideal_class_encoder_curve_in_bits(pairs, bits):
    # Lee 2023, fact sheet section 3.1: four classes, expected estimate at K pairs.
    labels = np.random.default_rng(0).integers(4, size=(4000, pairs))
    rows = jnp.eye(4)[labels]
    losses = jax.jit(jax.vmap(lambda z: infonce.nt_xent(z, z, temperature=0.02)[0]))(rows)
    estimates = (math.log(2 * pairs - 1) - np.float64(losses)) / math.log(2)
    error = estimates.std() / math.sqrt(len(estimates))
    assert error < 0.005
    assert abs(estimates.mean() - bits) < 4 * error + 0.0005


def test_both_directions_of_a_queue_are_nt_xent_with_negatives():
    first, second, queue = inputs('queue_contrastive')
    both = [
        infonce.queue_contrastive(a, b, queue, temperature=0.2)[0]
        for a, b in ((first, second), (second, first))
    ]
    expected, _ = infonce.nt_xent(first, second, temperature=0.2, negatives=queue)
    close(np.mean(both), expected)


def test_standardized_similarity_ignores_scale_and_shift_of_a_dimension():
    z1, z2 = inputs('nt_xent')
    scale, shift = np.float32([3, 0.1, 1, 20, 0.5])[None], np.float32([1, -2, 0, 3, 5])[None]
    options = {'temperature': 0.5, 'similarity': 'standardized'}
    loss, _ = infonce.nt_xent(z1, z2, **options)
    moved, _ = infonce.nt_xent(z1 * scale + shift, z2 * scale + shift, **options)
    close(moved, loss, 5e-6)


def test_directclr_leaves_the_other_dimensions_alone():
    (_, _), (gradients, _) = compiled('directclr')(inputs('directclr'), np.float32(0.1))
    for gradient in gradients:
        assert np.all(gradient[:, 3:] == 0)
        assert np.all(np.any(gradient[:, :3] != 0, axis=1))


def test_accuracy_counts_the_positives_that_are_nearest():
    # Angles of three pairs; the second view of the second pair lies between those of the third.
    first, second = np.radians([0, 90, 180]), np.radians([5, 176, 186])
    z1, z2 = (np.stack([np.cos(a), np.sin(a)], axis=1).astype('f4') for a in (first, second))
    # Hits: 0 and 5 have each other. 90 has 5, 176 has 180, 180 has 176, 186 has 180.
    _, parts = infonce.nt_xent(z1, z2, temperature=0.1)
    close(parts['accuracy'], 3 / 6)
    # Other view only: 0 and 5, then 186 has 180, while 180 has 176, 90 has 5 and 176 has 180.
    _, parts = infonce.cross_view_info_nce(z1, z2, temperature=0.1)
    close(parts['accuracy'], 3 / 6)
    # One direction: 0 hits, 90 and 180 miss.
    _, parts = infonce.queue_contrastive(z1, z2, z2[1:2], temperature=0.1)
    close(parts['accuracy'], 1 / 3)


def box_samples(count, seed=0, content=2, dimensions=10, sigma=0.05):
    """Latents in the unit box and their pairs: content copied, style with truncated noise."""
    draw = np.random.default_rng(seed)
    latents = draw.uniform(size=(count, dimensions))
    pairs = latents + sigma * draw.standard_normal(latents.shape)
    while np.any(outside := (pairs < 0) | (pairs > 1)):
        again = latents + sigma * draw.standard_normal(latents.shape)
        pairs = np.where(outside, again, pairs)
    pairs[:, :content] = latents[:, :content]
    return latents.astype(np.float32), pairs.astype(np.float32)


def test_box_loss_of_the_true_latents():
    # Rusak 2022, Table 1 and fact sheet sections 2.3 and O2.9: 4,000 samples, 2 content of 10.
    latents, pairs = box_samples(4000)
    loss = jax.jit(lambda a, p: infonce.box_info_nce(a, p, temperature=1.0))
    true, parts = loss(latents, pairs)
    assert abs(parts['align'] - 0.0190) < 0.0005
    assert abs(true - 6.80) < 0.02
    content_only = np.float32([1] * 2 + [0] * 8)[None]
    assert abs(loss(latents * content_only, pairs * content_only)[0] - 7.99) < 0.02
    content_larger = np.float32([4] * 2 + [1] * 8)[None]
    assert abs(loss(latents * content_larger, pairs * content_larger)[0] - 5.14) < 0.02
    assert abs(loss(latents * 4, pairs * 4)[0] - 0.28) < 0.02


def test_sphere_uniform_part_of_uniform_rows():
    # Rusak 2022, fact sheet section 2.3: log n + log 0F1(d / 2; 1 / (4 tau^2)), d = 10, tau = 1.
    rows = references.unit(np.random.default_rng(0).standard_normal((3000, 10))).astype('f4')
    _, parts = jax.jit(lambda a: infonce.sphere_info_nce(a, -a, temperature=1.0))(rows)
    series = sum(0.25**k / (math.prod(range(5, 5 + k)) * math.factorial(k)) for k in range(20))
    assert abs(parts['uniform'] - math.log(3000) - math.log(series)) < 0.002


ROWS = np.ones((4, 3))
BAD = [
    (infonce.nt_xent, (ROWS, ROWS[:3]), {'temperature': 0.1}, 'one shape'),
    (infonce.nt_xent, (ROWS[0], ROWS[0]), {'temperature': 0.1}, 'one shape'),
    (infonce.nt_xent, (ROWS[:1], ROWS[:1]), {'temperature': 0.1}, 'at least 2 pairs'),
    (infonce.nt_xent, (ROWS, ROWS), {'temperature': 0}, 'temperature must be positive'),
    (infonce.nt_xent, (ROWS, ROWS), {'temperature': -0.1}, 'temperature must be positive'),
    (infonce.nt_xent, (ROWS, ROWS), {'temperature': math.nan}, 'temperature must be positive'),
    (infonce.nt_xent, (ROWS, ROWS), {'temperature': (0.1, 0.2)}, 'have 3 entries'),
    (infonce.nt_xent, (ROWS, ROWS), {'temperature': 1, 'similarity': 'cosin'}, 'standardized'),
    (infonce.nt_xent, (ROWS, ROWS), {'temperature': 1, 'negatives': ROWS[:, :2]}, 'negatives'),
    (infonce.nt_xent, (ROWS, ROWS), {'temperature': 1, 'negatives': ROWS[:0]}, 'negatives'),
    (infonce.nt_xent, (ROWS, ROWS), {'temperature': 1, 'block_size': 0}, 'block_size'),
    (infonce.cross_view_info_nce, (ROWS[:1], ROWS[:1]), {'temperature': 1}, 'at least 2 pairs'),
    (infonce.directclr, (ROWS, ROWS), {'temperature': 1, 'num_dimensions': 4}, 'num_dimensions'),
    (infonce.directclr, (ROWS, ROWS), {'temperature': 1, 'num_dimensions': 0}, 'num_dimensions'),
    (infonce.box_info_nce, (ROWS, ROWS), {'temperature': 1, 'power': 0.5}, 'power'),
    (infonce.sphere_info_nce, (ROWS, ROWS[:2]), {'temperature': 1}, 'anchors and positives'),
    (infonce.queue_contrastive, (ROWS, ROWS, ROWS[:, :2]), {'temperature': 1}, 'queue'),
    (margins.in_batch_hard, (ROWS, ROWS), {'temperature': 1, 'num_hard': 7}, r'\[1, 6\]'),
    (margins.in_batch_hard, (ROWS, ROWS), {'temperature': 1, 'num_hard': 0}, r'\[1, 6\]'),
    (margins.in_batch_simple, (ROWS[:1], ROWS[:1]), {}, 'at least 2 pairs'),
    (margins.hardest_negative_triplet, (ROWS[:1], ROWS[:1]), {}, 'at least 2 pairs'),
]


@pytest.mark.parametrize(('function', 'arrays', 'options', 'message'), BAD)
def test_bad_input_is_named_while_tracing(function, arrays, options, message):
    arrays = [jnp.asarray(rows, jnp.float32) for rows in arrays]
    with pytest.raises(ValueError, match=message):
        jax.eval_shape(lambda: function(*arrays, **options))


def test_a_queue_that_lies_on_every_device_is_not_gathered():
    mesh = sharding.data_mesh(4)
    rows, whole = sharding.batch_sharding(mesh), sharding.replicated(mesh)
    generator = np.random.default_rng(0)
    queries, keys, queue = (
        generator.normal(size=(count, 6)).astype(np.float32) for count in (8, 8, 52)
    )

    def loss(*arrays):
        return infonce.queue_contrastive(*arrays, temperature=0.2)[0]

    graded = jax.value_and_grad(loss, (0, 1, 2))
    expected = graded(queries, keys, queue)
    with jax.set_mesh(mesh):
        compiled = jax.jit(graded, in_shardings=(rows, rows, whole)).lower(queries, keys, queue)
        compiled = compiled.compile()
        found = compiled(*map(jax.device_put, (queries, keys, queue), (rows, rows, whole)))
        only_queries = jax.jit(jax.grad(loss), in_shardings=(rows, rows, whole))
        text = only_queries.lower(queries, keys, queue).compile().as_text()
    for one, several in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
        close(several, one)
    assert 'all-gather' not in text
