"""The checks must catch what they are for: each is given a loss that breaks exactly it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax import identities, losses
from contrastive_jax.errors import BadInput
from contrastive_jax.identities import checks
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


def ignores_the_pairs(z1, z2):
    return jnp.mean(jnp.square(z1)) + jnp.mean(jnp.square(z2))


def has_a_nan_gradient(z1, z2):
    return good(z1, z2) + jnp.sqrt(jnp.sum(jnp.square(z1 - z1)))


def verdicts(function, *names, options=None):
    chosen = [getattr(checks, name) for name in names]
    return [f.holds for f in identities.check(function, options, chosen)]


def test_everything_that_must_hold_holds_for_a_good_loss():
    findings = identities.check(good, {'temperature': 0.1}, checks.MUST_HOLD)
    assert [f.holds for f in findings] == [True] * len(checks.MUST_HOLD), findings


@pytest.mark.parametrize(
    ('function', 'name'),
    [
        (not_finite_at_zero, 'finite_at_zero_rows'),
        (knows_the_order, 'permuted_pairs_change_nothing'),
        (forgets_the_last_row, 'permuted_pairs_change_nothing'),
        (cancels_digits, 'float64_agrees'),
        (ignores_the_pairs, 'mispairing_is_worse'),
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
