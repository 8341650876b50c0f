"""The checks must catch what they are for: each is given a loss that breaks exactly it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax import identities, losses
from contrastive_jax.errors import BadInput
from contrastive_jax.identities import checks, report
from contrastive_jax.losses import similarities
from contrastive_jax.losses.any_mesh import any_mesh

N = 8


def unit(rows):
    return rows / jnp.maximum(jnp.linalg.norm(rows, axis=1, keepdims=True), 1e-6)


def good(z1, z2, *, temperature=0.2):
    """Cross entropy of the pairs, as a user would write it."""
    squares = [jnp.sum(z * z, axis=1, keepdims=True) for z in (z1, z2)]
    u, v = (z / jnp.sqrt(s + 1e-12) for z, s in zip((z1, z2), squares, strict=True))
    logits = jnp.matmul(u, v.T, precision='highest') / temperature
    return jnp.mean(jax.nn.logsumexp(logits, axis=1) - jnp.diagonal(logits))


def not_finite_at_zero(z1, z2, *, temperature=0.2):
    u, v = (z / jnp.linalg.norm(z, axis=1, keepdims=True) for z in (z1, z2))
    return jnp.mean(jnp.sum(u * v, axis=1)) / temperature


def overflows(z1, z2, *, temperature=0.2):
    logits = jnp.sum(z1 * z2, axis=1) / temperature
    return jnp.mean(jnp.log(jnp.exp(logits) + 1))


def knows_the_order(z1, z2):
    weights = jnp.arange(1, len(z1) + 1, dtype=jnp.float32)
    return jnp.mean(weights * jnp.sum((z1 - z2) ** 2, axis=1))


def forgets_the_last_row(z1, z2):
    return good(z1[:-1], z2[:-1])


def cancels_digits(z1, z2):
    offset = 1e4 + z2
    return good((z1 + offset) - offset, z2)


def has_a_nan_part(z1, z2, *, temperature=0.2):
    return good(z1, z2, temperature=temperature), {'ratio': jnp.mean(z1[:, 0] / z2[:, 0])}


def overflows_at_zero_rows_only(z1, z2, *, temperature=0.2):
    nearness_to_zero = 1 / temperature - 1e6 * jnp.abs(z1[:, 0])
    return good(z1, z2, temperature=temperature) + jnp.sum(jnp.exp(nearness_to_zero))


@jax.custom_vjp
def log_sum_exp(logits):
    return jax.nn.logsumexp(logits, axis=1)


log_sum_exp.defvjp(
    lambda logits: (log_sum_exp(logits), logits),
    # Over the wrong axis: it is the gradient of the other view's candidates.
    lambda logits, gradient: (gradient[:, None] * jax.nn.softmax(logits, axis=0),),
)


def has_a_wrong_gradient(z1, z2):
    logits = unit(z1) @ unit(z2).T
    return jnp.mean(log_sum_exp(logits) - jnp.diagonal(logits))


def has_a_wrong_gradient_in_a_loop(z1, z2):
    rows = jax.lax.map(lambda row: log_sum_exp((unit(z2) @ row)[None, :])[0], unit(z1))
    return jnp.mean(jax.jit(log_sum_exp)(rows[None, :])) + good(z1, z2)


def computes_in_float32(z1, z2):
    return good(z1.astype(jnp.float32), z2.astype(jnp.float32))


def computes_in_float32_and_returns_the_type_of_its_input(z1, z2):
    return computes_in_float32(z1, z2).astype(z1.dtype)


def ignores_the_pairs(z1, z2):
    return jnp.mean(jnp.square(z1)) + jnp.mean(jnp.square(z2))


def hardly_sees_the_pairs(z1, z2):
    return ignores_the_pairs(z1, z2) + 1e-6 * jnp.mean(jnp.square(z1 - z2))


def has_a_nan_gradient(z1, z2):
    return good(z1, z2) + jnp.sqrt(jnp.sum(jnp.square(z1 - z1)))


def verdicts(function, *names, options=None):
    chosen = [getattr(checks, name) for name in names]
    return [f.holds for f in identities.check(function, options, chosen)]


def test_everything_that_must_hold_holds_for_a_good_loss():
    findings = identities.check(good, {'temperature': 0.1}, checks.MUST_HOLD)
    assert len(findings) == 7
    assert [f.holds for f in findings] == [True] * len(checks.MUST_HOLD), findings


@pytest.mark.parametrize(
    ('function', 'name'),
    [
        (not_finite_at_zero, 'finite_at_zero_rows'),
        (knows_the_order, 'permuted_pairs_change_nothing'),
        (forgets_the_last_row, 'permuted_pairs_change_nothing'),
        (cancels_digits, 'float64_agrees'),
        (ignores_the_pairs, 'mispairing_is_worse'),
        (hardly_sees_the_pairs, 'mispairing_is_worse'),
        (has_a_nan_part, 'finite_at_zero_rows'),
        (overflows_at_zero_rows_only, 'finite_at_extreme_temperature'),
        (has_a_wrong_gradient, 'gradient_is_the_derivative'),
        (has_a_wrong_gradient_in_a_loop, 'gradient_is_the_derivative'),
    ],
)
def test_broken_loss_fails_its_check(function, name):
    assert verdicts(function, name) == [False]


def test_a_gradient_that_is_nan_agrees_with_nothing_not_even_itself():
    names = ('jit_equals_eager', 'permuted_pairs_change_nothing', 'any_number_of_devices')
    assert verdicts(has_a_nan_gradient, *names) == [False] * 3


def test_overflow_at_a_low_temperature_fails():
    name = 'finite_at_extreme_temperature'
    assert verdicts(overflows, name, options={'temperature': 0.2}) == [False]
    # An option that the caller left to its default is tried too.
    assert verdicts(overflows, name) == [False]


def test_overflow_at_zero_rows_is_seen_only_at_a_low_temperature():
    names = ('finite_at_zero_rows', 'finite_at_extreme_temperature')
    assert verdicts(overflows_at_zero_rows_only, *names) == [True, False]
    finding = identities.check(
        overflows_at_zero_rows_only, checks=[checks.finite_at_extreme_temperature]
    )[0]
    assert finding.detail == (
        'value not finite with one row zero, not jitted, at temperature 0.001'
    )


@pytest.mark.parametrize(
    'function',
    [computes_in_float32, computes_in_float32_and_returns_the_type_of_its_input, losses.nt_xent],
)
def test_float32_against_itself_is_not_called_a_test_in_double_precision(function):
    finding = identities.check(function, checks=[checks.float64_agrees])[0]
    assert finding.holds is None
    assert 'float32 whatever the input' in finding.detail


def test_float32_masks_do_not_hide_a_function_from_the_test_in_double_precision():
    def masked(z1, z2):
        own = (jnp.arange(N)[:, None] == jnp.arange(N)[None, :]).astype(jnp.float32)
        offset = 1e4 + z2
        return jnp.sum((((z1 + offset) - offset) @ z2.T) * own)

    assert verdicts(masked, 'float64_agrees') == [False]


def test_temperature_of_another_name_is_not_tested_and_the_reason_said():
    def named_tau(left, right, tau):
        return good(left, right, temperature=tau)

    finding = identities.check(named_tau, {'tau': 0.1}, [checks.finite_at_extreme_temperature])[0]
    assert finding.holds is None
    assert "no parameter is named 'temperature'; its options: tau" in finding.detail


def test_too_few_devices_are_not_a_failure(monkeypatch):
    one = jax.devices()[:1]
    monkeypatch.setattr(jax, 'devices', lambda *backend: one)
    finding = identities.check(good, checks=[checks.any_number_of_devices])[0]
    assert (finding.holds, finding.detail) == (None, 'needs 4 devices, found 1')


def test_gradients_that_jax_cannot_derive_are_not_tested():
    @jax.custom_vjp
    def through_bits(x):
        bits = jax.lax.bitcast_convert_type(x, jnp.int32)
        return jax.lax.bitcast_convert_type(bits, jnp.float32)

    through_bits.defvjp(lambda x: (through_bits(x), None), lambda _, gradient: (gradient,))

    def loss(z1, z2):
        return good(through_bits(z1), z2)

    assert verdicts(loss, 'gradient_is_the_derivative') == [None]


def test_a_stopped_gradient_is_no_wrong_gradient():
    def stops(z1, z2):
        logits = unit(z1) @ jax.lax.stop_gradient(unit(z2)).T
        return jnp.mean(similarities.unit_rows(z1)) + jnp.mean(logits)

    finding = identities.check(stops, checks=[checks.gradient_is_the_derivative])[0]
    assert finding.holds
    assert 'difference' in finding.detail


def test_loss_that_differs_inside_jit_fails():
    def eager_sees_concrete(z1, z2):
        # A gradient traces too; only `jit` hides the value.
        scale = 1.0
        try:
            float(jax.lax.stop_gradient(z1[0, 0]))
        except jax.errors.ConcretizationTypeError:
            scale = 2.0
        return scale * good(z1, z2)

    assert verdicts(eager_sees_concrete, 'jit_equals_eager') == [False]


def test_loss_that_counts_devices_fails():
    def counts(z1, z2):
        mesh = jax.sharding.get_abstract_mesh()
        return good(z1, z2) * max(1, mesh.size)

    assert verdicts(counts, 'any_number_of_devices') == [False]


def test_explicit_mesh_axes_are_a_type_error_unless_the_loss_turns_them_off():
    # A report only: the mesh of training has Auto axes.
    assert checks.explicit_mesh_axes not in checks.MUST_HOLD
    finding = identities.check(good, checks=[checks.explicit_mesh_axes])[0]
    assert finding.holds is False
    assert 'ShardingTypeError' in finding.detail
    assert verdicts(any_mesh(good), 'explicit_mesh_axes') == [True]


def test_loss_that_raises_does_not_hold_and_says_why():
    def raises(z1, z2):
        raise KeyError('no such thing')

    finding = identities.check(raises, checks=checks.MUST_HOLD[:1])[0]
    assert finding.holds is False
    assert 'KeyError' in finding.detail


def test_loss_that_returns_no_scalar_is_told_so():
    for function, kind in ((lambda z1, z2: z1, 'shape'), (lambda z1, z2: {'a': z1}, 'dict')):
        finding = identities.check(function, checks=checks.MUST_HOLD[:1])[0]
        assert finding.holds is False
        assert f'a loss returns a scalar or (scalar, dict), got {kind}' in finding.detail


def test_sum_over_rows_is_told_from_their_mean():
    def total(z1, z2):
        return N * good(z1, z2)

    finding = identities.check(total, checks=[checks.identical_rows])[0]
    assert f'{N} log {N}, n: a sum' in finding.detail


def test_table_says_not_tested_with_the_reason_and_what_a_failed_check_means():
    def named_tau(left, right, tau=0.1):
        return has_a_wrong_gradient(left, right) / tau

    chosen = [checks.finite_at_extreme_temperature, checks.gradient_is_the_derivative]
    findings = identities.check(named_tau, None, chosen)
    lines = report.table(findings).splitlines()
    assert 'not tested' in lines[1]
    assert 'tau' in lines[1]
    assert 'fails' in lines[2]
    assert 'JAX derives for the same function' in lines[3]
    assert lines[-1] == 'of 2 that must hold: fails 1, not tested 1'


def test_identical_rows_name_the_candidates():
    for function, detail in (
        (losses.nt_xent, f'log {2 * N - 1}, 2n-1'),
        (losses.cross_view_info_nce, f'log {N}, n'),
        (losses.contrastive, 'log 40, rows of bank'),
        (losses.queue_contrastive, 'log 41, rows of queue + 1'),
    ):
        finding = identities.check(function, checks=[checks.identical_rows])[0]
        assert finding.holds
        assert finding.detail.endswith(detail)


@pytest.mark.slow
def test_standard_loss_is_recognised_with_its_factor():
    def twice(a, b, *, temperature=0.2):
        return 2 * losses.nt_xent(a, b, temperature=temperature)[0] + 1

    finding = identities.check(twice, {'temperature': 0.5}, [checks.standard_losses])[0]
    # With one temperature for all dimensions the anisotropic form is the same function.
    assert set(finding.detail.split(', ')) == {'2 x nt_xent', '2 x anisotropic_info_nce'}
    finding = identities.check(losses.contrastive, checks=[checks.standard_losses])[0]
    assert finding.detail == '1 x instance_discrimination'


def test_memory_growth_tells_linear_from_quadratic():
    def growth(function):
        return identities.check(function, checks=[checks.memory_growth])[0].detail

    assert growth(losses.nt_xent).endswith('linear')
    assert growth(good).endswith('quadratic')


def test_inputs_of_unknown_parameters_and_options_are_bad_input():
    def strange(spectrogram, *, temperature):
        return jnp.sum(spectrogram) / temperature

    with pytest.raises(BadInput, match="parameter 'spectrogram' of strange"):
        identities.check(strange)
    with pytest.raises(BadInput, match='getattr has no signature'):
        identities.check(getattr)
    with pytest.raises(BadInput, match='takes no array'):
        identities.check(lambda: 0.0)
    with pytest.raises(BadInput, match="'temperatur' is not an option of nt_xent"):
        identities.check(losses.nt_xent, {'temperatur': 0.1})


def test_pairs_of_the_inputs_are_pairs():
    case = identities.Case.of(losses.contrastive)
    bank, index = case.arrays['bank'], case.arrays['index']
    similarity = case.arrays['anchors'] @ bank[index].T
    assert np.mean(np.diagonal(similarity)) > np.mean(similarity) + 0.3
    moved = case.mispaired()
    np.testing.assert_array_equal(moved['index'], np.roll(index, 1))
    np.testing.assert_array_equal(moved['anchors'], case.arrays['anchors'])
