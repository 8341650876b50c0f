"""The battery: what every loss of the public list must do. A new loss is tested by being listed."""

import functools
import inspect
import re

import jax
import numpy as np
import pytest

from contrastive_jax import losses
from contrastive_jax.identities import Case, checks
from tests.losses import battery_inputs

VARIANTS = [
    (name, number)
    for name in losses.__all__
    if name not in battery_inputs.OF_A_VALUE
    for number in range(len(battery_inputs.OPTIONS.get(name, [{}])))
]
# Memory growth and the comparison with the standard losses are reports; double precision and the
# gradients written by hand have their own tests here. All are tested in tests/identities too.
ELSEWHERE = (
    checks.memory_growth,
    checks.standard_losses,
    checks.float64_agrees,
    checks.gradient_is_the_derivative,
)
# Compiled for four devices once more, or for two temperatures and run six times operation by
# operation: too long for the ten-minute set, in which any_mesh_test and the step's tests share a
# batch among devices.
SLOW = (
    checks.any_number_of_devices,
    checks.explicit_mesh_axes,
    checks.finite_at_extreme_temperature,
)
CHECKS = [
    pytest.param(check, marks=pytest.mark.slow if check in SLOW else ())
    for check in checks.CHECKS
    if check not in ELSEWHERE
]


@functools.cache
def case_of(name, number):
    """One case for all tests of a loss, so that it is compiled once."""
    options = battery_inputs.OPTIONS.get(name, [{}])[number]
    return Case.of(getattr(losses, name), options)


@pytest.mark.parametrize(('name', 'number'), VARIANTS)
@pytest.mark.parametrize('check', CHECKS, ids=lambda check: check.__name__)
def test_identity(check, name, number):
    case = case_of(name, number)
    holds, detail = check(case)
    assert holds is not False, detail


@pytest.mark.parametrize(('name', 'number'), VARIANTS)
@pytest.mark.parametrize('temperature', checks.EXTREME_TEMPERATURES)
def test_zero_row_at_an_extreme_temperature_is_finite(temperature, name, number):
    case = case_of(name, number)
    if case.temperature is None:
        pytest.skip('no temperature')
    arrays = {name: array.copy() for name, array in case.arrays.items()}
    for array in case.learned_names:
        arrays[array][0] = 0
    results = case.with_options(temperature=temperature).results_eagerly(arrays)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(results))


@pytest.mark.parametrize(('name', 'number'), VARIANTS)
def test_gradient_by_hand_is_compared_with_the_derived_one(name, number):
    # Only sorted rows go through the bits of floats, of which nothing can be derived.
    case = case_of(name, number)
    sorts = name == 'sliced_wasserstein' or 'sliced_wasserstein' in case.options.values()
    holds, detail = checks.gradient_is_the_derivative(case)
    assert holds == (None if sorts else True), detail


def numeric_gradient(function, arrays, name, step=1e-6):
    rows = np.float64(arrays[name])
    gradient = np.zeros_like(rows)
    # A few entries of the first, a middle and the last row: swapped or dropped rows show there.
    for i in (0, len(rows) // 2, len(rows) - 1):
        for j in (0, rows.shape[1] - 1):
            ends = []
            for sign in (1, -1):
                moved = rows.copy()
                moved[i, j] += sign * step
                ends.append(function({**arrays, name: moved}))
            gradient[i, j] = (ends[0] - ends[1]) / (2 * step)
    return gradient


@pytest.mark.parametrize(('name', 'number'), VARIANTS)
def test_value_and_gradient_are_those_of_the_float64_loop(name, number):
    case = case_of(name, number)
    reference = battery_inputs.reference(name, case.options)
    if reference is None:
        pytest.skip('its reference stands beside its own test')

    def loop(arrays):
        return reference(**arrays, **case.options)

    value, gradient = case.value_and_gradient(case.arrays)
    assert float(value) == pytest.approx(loop(case.arrays), rel=2e-6, abs=2e-6)
    for array in case.learned_names:
        expected = numeric_gradient(loop, case.arrays, array)
        if 'targets' in array:
            expected[:] = 0  # the regression's targets get no gradient
        places = expected != 0
        scale = max(np.max(np.abs(expected)), 1e-3)
        np.testing.assert_allclose(
            np.asarray(gradient[array])[places], expected[places], atol=1e-5 * scale, rtol=1e-4
        )


@pytest.mark.parametrize(('name', 'number'), VARIANTS)
def test_losses_run_where_double_precision_is_enabled(name, number):
    case = case_of(name, number)
    with jax.enable_x64(True):  # strictly: the check itself lets types mix
        value, _ = jax.eval_shape(case.value_and_gradient_eagerly, case.arrays)
    assert value.dtype == np.float32
    # Float32 would be compared with itself; the float64 loops above are the comparison.
    assert checks.float64_agrees(case)[0] is None


def test_every_loss_has_a_reference():
    missing = [n for n in losses.__all__ if battery_inputs.reference(n, {}) is None]
    assert sorted(missing) == sorted(battery_inputs.OF_A_VALUE)


@pytest.mark.parametrize('name', losses.__all__)
def test_options_are_keyword_only_and_arrays_come_first(name):
    for parameter in inspect.signature(getattr(losses, name)).parameters.values():
        if parameter.default is not parameter.empty:
            assert parameter.kind is parameter.KEYWORD_ONLY, parameter.name
        if parameter.name in ('temperature', 'weight', 'key', 'num_hard', 'reduce'):
            assert parameter.kind is parameter.KEYWORD_ONLY, parameter.name


@pytest.mark.parametrize('name', losses.__all__)
def test_docstring_has_arguments_shapes_unit_and_source(name):
    function = getattr(losses, name)
    text = inspect.getdoc(function)
    sections = dict(re.findall(r'^(Args|Returns|Raises|Source):(.*?)(?=^\S|\Z)', text, re.M | re.S))
    assert set(sections) >= {'Args', 'Returns', 'Source'}
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf'^  {parameter}:', sections['Args'], re.M), parameter
    assert re.search(r'\[\w+[\w, ]*\]|any shape', sections['Args'])
    assert re.search(r'nats|bits|unit', sections['Returns'])
    assert re.search(r'\d{4}', sections['Source'])


@pytest.mark.parametrize(('name', 'number'), VARIANTS)
def test_training_objectives_return_a_float32_scalar_and_named_scalars(name, number):
    case = case_of(name, number)
    result = jax.eval_shape(lambda arrays: case.function(**arrays, **case.options), case.arrays)
    value, parts = result if isinstance(result, tuple) else (result, {})
    assert isinstance(result, tuple) or name in ('nwj', 'barber_agakov', 'sliced_wasserstein')
    for scalar in (value, *parts.values()):
        assert scalar.shape == ()
        assert scalar.dtype == np.float32
