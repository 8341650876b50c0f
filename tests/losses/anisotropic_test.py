"""AnInfoNCE against the float64 loop, closed forms, and NT-Xent, which it equals or does not."""

import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from contrastive_jax.losses import anisotropic_info_nce, nt_xent
from tests.losses import infonce_references, other_references

PAIRS, DIMENSIONS = 7, 5
CANDIDATES = 2 * PAIRS - 1
VECTOR = np.array([0.1, 0.3, 0.2, 0.7, 0.15], np.float32)


def of(loss):
    """(z1, z2, temperature) -> ((loss, parts), gradients of all three)."""

    def call(z1, z2, temperature):
        return loss(z1, z2, temperature=temperature)

    return jax.value_and_grad(call, (0, 1, 2), has_aux=True)


compiled = jax.jit(of(anisotropic_info_nce))
compiled_nt_xent = jax.jit(of(nt_xent))


def inputs(pairs=PAIRS, noise=0.5):
    draw = np.random.default_rng(0).standard_normal
    first = draw((pairs, DIMENSIONS))
    return np.float32(first), np.float32(first + noise * draw(first.shape))


def close(actual, expected, tolerance=1e-6):
    actual, expected = np.float64(actual), np.float64(expected)
    assert np.all(np.isfinite(actual))
    assert np.abs(actual - expected).max() <= tolerance * max(1, np.abs(expected).max())


def all_finite(result):
    return all(np.all(np.isfinite(np.float64(leaf))) for leaf in jax.tree.leaves(result))


@pytest.mark.parametrize('temperature', [np.float32(0.05), np.float32(0.3), VECTOR])
def test_value_and_every_gradient_equal_the_double_loop(temperature):
    arrays = inputs()
    (loss, _), slopes = compiled(*arrays, temperature)

    def reference(z1, z2, temperature):
        return other_references.anisotropic_info_nce(z1, z2, temperature=temperature)

    point = [np.float64(x) for x in (*arrays, temperature)]
    close(loss, reference(*point))
    scale = max(1, *(np.abs(slope).max() for slope in slopes))
    for position, slope in enumerate(slopes):
        numeric = np.zeros_like(point[position])
        for place in np.ndindex(numeric.shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [x.copy() for x in point]
                moved[position] = np.asarray(moved[position])
                moved[position][place] += step
                ends.append(reference(*moved))
            numeric[place] = (ends[0] - ends[1]) / 2e-6
        close(slope / scale, numeric / scale, 2e-6)


@pytest.mark.parametrize('temperature', [0.05, 0.2, 1.0, 100.0])
@pytest.mark.parametrize('entries', [(), (DIMENSIONS,)])
def test_a_constant_temperature_gives_nt_xent(temperature, entries):
    # |a - b|^2 / 2 = 1 - a.b on the sphere, and the 1 is common to all candidates.
    arguments = *inputs(), np.full(entries, temperature, np.float32)
    (loss, parts), ours = compiled(*arguments)
    (expected, known), theirs = compiled_nt_xent(*arguments)
    close(loss, expected)
    close(parts['accuracy'], known['accuracy'])
    close(parts['alignment'], known['alignment'] + 1 / temperature)
    scale = max(1, *(np.abs(slope).max() for slope in theirs[:2]))
    for mine, other in zip(ours[:2], theirs[:2], strict=True):
        close(mine / scale, other / scale, 2e-6)
    # They agree along the constant temperatures, and along those only.
    close(np.sum(ours[2]), np.sum(theirs[2]), 1e-5)
    if entries and temperature < 1:
        assert np.abs(ours[2] - theirs[2]).max() > 0.01 * np.abs(theirs[2]).max()


def test_a_vector_temperature_does_not_give_nt_xent():
    (loss, _), gradients = compiled(*inputs(), VECTOR)
    (other, _), theirs = compiled_nt_xent(*inputs(), VECTOR)
    arrays, temperature = inputs(), np.float64(VECTOR)
    apart = other_references.anisotropic_info_nce(*arrays, temperature=temperature)
    apart -= infonce_references.nt_xent(*arrays, temperature=temperature)
    close(loss - other, apart)
    assert abs(apart) > 0.05
    assert np.abs(gradients[0] - theirs[0]).max() > 0.1


def test_closed_form_of_two_opposite_pairs():
    # Both negatives of an anchor lie at distance 2 along the first dimension: D = 2 lambda_0, so
    # L = log(1 + 2 exp(-2 lambda_0)) whatever the second dimension's temperature.
    rows = jnp.array([[3.0, 0.0], [-0.5, 0.0]])
    weight = 0.8
    (loss, parts), gradients = compiled(rows, rows, jnp.array([1 / weight, 0.01]))
    share = 2 * math.exp(-2 * weight) / (1 + 2 * math.exp(-2 * weight))
    close(loss, math.log1p(2 * math.exp(-2 * weight)))
    # dL/dtau = -lambda^2 dL/dlambda, and dL/dlambda is -2 times the negatives' share.
    close(gradients[2], [2 * share * weight**2, 0])
    assert parts['alignment'] == 0
    assert parts['accuracy'] == 1
    # Along the second dimension alone they are the same point: 4 equal rows, two of them negatives.
    close(compiled(rows, rows, jnp.array([1e9, 0.01]))[0][0], math.log(3))


def test_each_dimension_has_its_own_temperature():
    z1, z2 = inputs()
    loss = compiled(z1, z2, VECTOR)[0][0]
    order = np.array([3, 0, 4, 1, 2])
    close(compiled(z1[:, order], z2[:, order], VECTOR[order])[0][0], loss)
    assert abs(compiled(z1[:, order], z2[:, order], VECTOR)[0][0] - loss) > 0.1


def test_order_of_the_pairs_is_nothing_and_pairing_is_everything():
    z1, z2 = inputs()
    loss = compiled(z1, z2, VECTOR)[0][0]
    order = np.random.default_rng(2).permutation(PAIRS)
    close(compiled(z1[order], z2[order], VECTOR)[0][0], loss)
    close(compiled(z2, z1, VECTOR)[0][0], loss)
    assert compiled(z1, np.roll(z2, 1, axis=0), VECTOR)[0][0] > loss + 0.1


def test_parts_add_up_and_alignment_is_the_distance_of_the_pairs():
    z1, z2 = inputs()
    (loss, parts), _ = compiled(z1, z2, VECTOR)
    close(parts['alignment'] + parts['log_sum_exp'], loss)
    difference = other_references.unit(z1) - other_references.unit(z2)
    close(parts['alignment'], np.mean(np.sum(difference**2 / VECTOR, axis=1)) / 2)


@pytest.mark.parametrize('temperature', [0.001, 0.1, 10.0])
def test_identical_rows_give_the_log_of_the_candidates_and_no_hit(temperature):
    rows = np.ones((PAIRS, DIMENSIONS), np.float32) * inputs()[0][:1]
    (loss, parts), _ = compiled(rows, rows, np.float32(temperature) * VECTOR)
    assert abs(loss - math.log(CANDIDATES)) < 1e-6 + 4e-7 / (temperature * VECTOR.min())
    assert parts['accuracy'] == 0
    # Not 0: a fused multiply-add rounds only one of the two equal products it subtracts.
    assert 0 <= parts['alignment'] < 1e-11


def test_large_temperature_gives_the_log_of_the_candidates():
    close(compiled(*inputs(), np.float32(1e8))[0][0], math.log(CANDIDATES))


@pytest.mark.parametrize('temperature', [0.0, 0.001, 0.07, 1.0, 100.0, np.inf])
def test_hostile_rows_are_finite_at_every_temperature(temperature):
    z1, z2 = inputs()
    huge = np.concatenate([z1[:1] * np.float32(1e20), z1[1:]])
    zero = np.concatenate([z1[:1] * 0, z1[1:]])
    for first, second in ((z1 * 0, z2 * 0), (z1, z1), (zero, z2), (zero, zero), (huge, z2)):
        for shape in ((), (DIMENSIONS,)):
            result = compiled(first, second, np.full(shape, temperature, np.float32))
            assert all_finite(result[0])
            assert all_finite(result[1][:2])
            assert temperature == np.inf or all_finite(result[1][2])


def test_a_learned_temperature_at_zero_counts_as_the_smallest():
    for at_zero in (np.float32(0), VECTOR * np.float32([0, 1, 1, -1, 1])):
        smallest = np.maximum(at_zero, np.float32(1e-6))
        close(compiled(*inputs(), at_zero)[0][0], compiled(*inputs(), smallest)[0][0])


@pytest.mark.parametrize('dtype', [jnp.bfloat16, jnp.float16])
def test_low_precision_inputs_are_computed_in_float32(dtype):
    arrays = [jnp.asarray(rows, dtype) for rows in inputs()]
    (loss, _), gradients = compiled(*arrays, VECTOR)
    assert loss.dtype == jnp.float32
    assert gradients[0].dtype == dtype
    exact = [np.asarray(rows, np.float64) for rows in arrays]
    close(loss, other_references.anisotropic_info_nce(*exact, temperature=np.float64(VECTOR)))


@pytest.mark.parametrize('devices', [2, 4])
@pytest.mark.parametrize('in_context', [True, False])
@pytest.mark.parametrize('kind', [AxisType.Auto, AxisType.Explicit])
def test_any_number_of_devices_gives_the_same(devices, in_context, kind):
    arrays = inputs(pairs=8)
    expected = compiled(*arrays, VECTOR)
    mesh = jax.make_mesh((devices,), ('data',), (kind,), devices=jax.devices()[:devices])
    split = NamedSharding(mesh, PartitionSpec('data'))
    arrays = [jax.device_put(rows, split) for rows in arrays]
    step = jax.jit(of(anisotropic_info_nce))
    if in_context:
        with jax.set_mesh(mesh):
            actual = step(*arrays, VECTOR)
    else:
        actual = step(*arrays, VECTOR)
    jax.tree.map(close, actual, expected)


def test_one_gather_and_no_row_moves_otherwise():
    mesh = jax.make_mesh((4,), ('data',), (AxisType.Auto,))
    rows = jax.ShapeDtypeStruct(
        (64, DIMENSIONS), jnp.float32, sharding=NamedSharding(mesh, PartitionSpec('data'))
    )
    step = jax.value_and_grad(
        lambda z1, z2: anisotropic_info_nce(z1, z2, temperature=VECTOR), (0, 1), has_aux=True
    )
    with jax.set_mesh(mesh):
        program = jax.jit(step).lower(rows, rows).compile().as_text()
    kinds = ('all-gather', 'reduce-scatter', 'all-reduce', 'all-to-all', 'collective-permute')
    counts = [len(re.findall(rf'= .*? {kind}(?:-start)?\(', program)) for kind in kinds]
    assert counts == [1, 1, 1, 0, 0]


def test_memory_is_linear_in_the_pairs():
    def temporaries(pairs):
        rows = jax.ShapeDtypeStruct((pairs, 16), jnp.float32)
        temperature = jax.ShapeDtypeStruct((16,), jnp.float32)
        program = jax.jit(of(anisotropic_info_nce)).lower(rows, rows, temperature).compile()
        return program.memory_analysis().temp_size_in_bytes

    assert temporaries(4096) < 2.5 * temporaries(2048)
    assert temporaries(4096) < 8192**2 * 4 / 20


def test_bad_input_is_a_value_error_while_tracing():
    rows = jnp.ones((4, 3))
    for z1, z2, temperature, message in (
        (rows, rows[:3], 0.1, r'z1 and z2 must be \[n, d\] of one shape'),
        (rows[:1], rows[:1], 0.1, 'at least 2 pairs, got 1'),
        (rows, rows, 0.0, 'temperature must be positive'),
        (rows, rows, [0.1, -0.1, 0.1], 'temperature must be positive'),
        (rows, rows, jnp.ones(2), 'must be a scalar or have 3 entries'),
    ):
        with pytest.raises(ValueError, match=message):
            jax.eval_shape(
                lambda a, b, t=temperature: anisotropic_info_nce(a, b, temperature=t), z1, z2
            )
