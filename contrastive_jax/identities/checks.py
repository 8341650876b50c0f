"""The identities that must hold for every loss, and the run through all checks."""

import contextlib
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from contrastive_jax.identities import programs
from contrastive_jax.identities.comparison import ROUNDING, all_finite, close, difference
from contrastive_jax.identities.inputs import Case
from contrastive_jax.identities.observations import (
    finite_with_a_huge_row,
    half_precision_in_float32_out,
    identical_rows,
    memory_growth,
    mispairing_is_worse,
    standard_losses,
)

EXTREME_TEMPERATURES = (0.001, 100.0)
# Between devices, by the lowest option of 0.05; below it (a temperature) logits round more.
DEVICE_ROUNDING, SHARP_DEVICE_ROUNDING, SHARP = 1e-6, 1e-4, 0.05


@dataclasses.dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes:
      name: of the check.
      must: whether it must hold for every loss; the others are reported.
      holds: True, False, or None where there is nothing to hold, or nothing could be tested.
      detail: one line for people.
      meaning: what the check is, in one line.
    """

    name: str
    must: bool
    holds: bool | None
    detail: str
    meaning: str = ''


def finite_at_zero_rows(case):
    """Value, parts and gradient with the first row zero, and with all of them."""
    problem = _not_finite(case, _with_zero_rows(case), [case.results])
    return (False, problem) if problem else (True, 'value, parts and gradient')


def finite_at_extreme_temperature(case):
    """Value, parts and gradient at temperatures 0.001 and 100, of usual and of zero rows."""
    if case.temperature is None:
        if 'temperature' in case.parameters:
            return None, 'temperature is None'
        options = ', '.join(n for n in case.parameters if n not in case.roles) or 'none'
        return None, f"no parameter is named 'temperature'; its options: {options}"
    for temperature in EXTREME_TEMPERATURES:
        inputs = {'usual rows': case.arrays, **_with_zero_rows(case)}
        other = case.with_options(temperature=temperature)
        if problem := _not_finite(other, inputs, [other.results_eagerly, other.results]):
            return False, f'{problem}, at temperature {temperature:g}'
    return True, '0.001 and 100, with usual and with zero rows, jitted and not'


def _with_zero_rows(case):
    """The arrays with the first row of each zero, and with all rows zero, by description."""
    found = {}
    for title, places in (('one row zero', slice(0, 1)), ('all rows zero', slice(None))):
        found[title] = dict(case.arrays)
        for name in case.learned_names:
            found[title][name] = case.arrays[name].copy()
            found[title][name][places] = 0
    return found


def _not_finite(case, inputs, ways):
    """Which result of which input is the first with a NaN or an infinity; None if none has."""
    for title, arrays in inputs.items():
        for results in ways:
            (value, parts), gradient = results(arrays)
            for what, tree in (('value', value), ('gradient', gradient), ('part', parts)):
                if not all_finite(tree):
                    jitted = 'jitted' if results is case.results else 'not jitted'
                    return f'{what} not finite with {title}, {jitted}'
    return None


def jit_equals_eager(case):
    """The compiled function gives what the operations one by one give."""
    compiled = case.value_and_gradient(case.arrays)
    return close(compiled, case.value_and_gradient_eagerly(case.arrays), ROUNDING)


def permuted_pairs_change_nothing(case):
    """Examples in another order give the same value, and the gradient in that order."""
    order = (3 * np.arange(case.rows) + 1) % case.rows  # moves each of 8 rows, and no rotation
    value, gradient = case.value_and_gradient(case.arrays)
    found = case.value_and_gradient(case.permuted(order))
    return close(found, (value, case.permuted(order, gradient)), ROUNDING)


def any_number_of_devices(case):
    """1, 2 and 4 devices with different rows on each agree, with and without a mesh in context."""
    return _on_devices(case, AxisType.Auto, ((2, True), (4, True), (4, False)))


def explicit_mesh_axes(case):
    """The same on 4 devices of a mesh whose sharding is part of the type, as JAX makes them."""
    return _on_devices(case, AxisType.Explicit, ((4, False),))


def _on_devices(case, axis_type, layouts):
    """One device against layouts: (devices, whether the mesh is in context)."""
    devices = jax.devices() if len(jax.devices()) >= 4 else jax.devices('cpu')
    if len(devices) < 4:
        return None, f'needs 4 devices, found {len(devices)}'
    expected = case.value_and_gradient(case.arrays)
    temperatures = [case.temperature, *case.options.values()]  # it may have another name
    sharp = any(np.min(t) < SHARP for t in temperatures if isinstance(t, float | list | np.ndarray))
    tolerance = SHARP_DEVICE_ROUNDING if sharp else DEVICE_ROUNDING
    worst = 0.0
    for count, in_context in layouts:
        mesh = Mesh(np.asarray(devices[:count]), ('data',), axis_types=(axis_type,))
        arrays = {
            name: jax.device_put(
                array, NamedSharding(mesh, PartitionSpec(*('data',) * (name in case.row_names)))
            )
            for name, array in case.arrays.items()
        }
        with jax.set_mesh(mesh) if in_context else contextlib.nullcontext():
            worst = max(worst, difference(case.value_and_gradient(arrays), expected))
    return worst <= tolerance, f'largest difference {worst:.1e}, allowed {tolerance:.0e}'


def gradient_is_the_derivative(case):
    """A gradient written by hand is the one that JAX derives for the same function."""
    arrays = jax.tree.map(jnp.asarray, case.arrays)
    learned = {name: arrays[name] for name in case.learned_names}
    leaves, structure = jax.tree.flatten(learned)

    def value(*leaves):
        return case.value_and_parts({**arrays, **jax.tree.unflatten(structure, leaves)})[0]

    program = jax.make_jaxpr(value)(*leaves)
    if not programs.gradients_by_hand(program):
        return True, 'JAX derives all of it'
    if not programs.derivable(program):
        return None, 'written by hand for bits of floats, where JAX derives nothing to compare with'

    def without_rules(leaves):
        return programs.evaluate_without_rules(program, leaves)[0]

    try:  # forward, since loops of an unknown length have no other derivative
        derived = jax.jit(jax.jacfwd(without_rules))(leaves)
    except Exception as error:  # the rule may be there because JAX has none
        return None, f'JAX derives no gradient to compare with: {type(error).__name__}'
    if not all_finite(derived):
        return None, "JAX's own gradient, to compare with, is not finite"
    found = case.value_and_gradient(case.arrays)
    return close(found, (found[0], jax.tree.unflatten(structure, derived)), ROUNDING)


def float64_agrees(case):
    """The same function on the same numbers in double precision."""
    # Whether the function mixes precisions is its own affair here.
    with jax.enable_x64(True), jax.numpy_dtype_promotion('standard'):
        arrays = {
            name: jnp.asarray(array, np.float64 if array.dtype == np.float32 else array.dtype)
            for name, array in case.arrays.items()
        }
        program = case.results.trace(arrays)
        (value, _), _ = program.out_info
        if value.dtype != np.float64 or programs.rounds_doubles(program.jaxpr.jaxpr):
            return None, 'it computes in float32 whatever the input'
        double = jax.tree.map(np.asarray, case.value_and_gradient(arrays))
    return close(case.value_and_gradient(case.arrays), double, ROUNDING)


MUST_HOLD = (
    finite_at_zero_rows,
    finite_at_extreme_temperature,
    jit_equals_eager,
    permuted_pairs_change_nothing,
    any_number_of_devices,
    gradient_is_the_derivative,
    float64_agrees,
)
REPORTED = (
    explicit_mesh_axes,
    mispairing_is_worse,
    identical_rows,
    finite_with_a_huge_row,
    half_precision_in_float32_out,
    memory_growth,
    standard_losses,
)
CHECKS = MUST_HOLD + REPORTED


def check(function, options=None, checks=CHECKS):
    """Puts a loss through the identities.

    Args:
      function: a loss: arrays and options to a scalar, or to (scalar, parts). What its arrays
        are is read from its parameter names (`inputs.arrays_by_name`); two positional
        parameters of other names are two views.
      options: dict of its options.
      checks: those to run, from `CHECKS`.

    Returns:
      A list of `Finding`, one for each check. A check in which the function raises does not hold.

    Raises:
      BadInput: no inputs can be made for the function, or it has no such option.
    """
    case = Case.of(function, options)
    findings = []
    for run in checks:
        try:
            holds, detail = run(case)
        except Exception as error:  # the function is the user's: anything may happen in it
            holds, detail = False, f'{type(error).__name__}: {" ".join(str(error).split())[:200]}'
        name = run.__name__.replace('_', ' ')
        meaning = (run.__doc__ or '').split('\n')[0]
        holds = None if holds is None else bool(holds)
        findings.append(Finding(name, run in MUST_HOLD, holds, detail, meaning))
    return findings
