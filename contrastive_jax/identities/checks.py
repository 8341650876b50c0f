"""The identities: what must hold for every loss, and what is worth knowing of one."""

import contextlib
import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from contrastive_jax import losses
from contrastive_jax.identities.inputs import SHARED, Case

# Relative to max(1, |value|) and to the largest entry of the gradient.
ROUNDING = 1e-5
# Between devices, by the lowest temperature of 0.05; below it logits carry larger roundings.
DEVICE_ROUNDING, SHARP_DEVICE_ROUNDING, SHARP = 1e-6, 1e-4, 0.05

# Estimates, which pairs make larger; every other function is minimised.
MAXIMIZED = (losses.nwj, losses.barber_agakov)
# Inputs that a loss normalises itself.
RAW = ('z1', 'z2', 'z', 'predictions1', 'predictions2')


@dataclasses.dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes:
      name: of the check.
      must: whether it must hold for every loss; the others are reported.
      holds: True, False, or None where there is nothing to hold or to test.
      detail: one line for people.
    """

    name: str
    must: bool
    holds: bool | None
    detail: str


def _difference(found, expected):
    """The larger of the differences of two (value, gradients), relative as `ROUNDING` says."""
    value, gradient = float(expected[0]), expected[1]
    largest = abs(float(found[0]) - value) / max(1.0, abs(value))
    scale = max(float(np.max(np.abs(_float64(g)))) for g in gradient.values())
    for name, entries in gradient.items():
        gap = float(np.max(np.abs(_float64(found[1][name]) - _float64(entries))))
        if not math.isfinite(gap):  # max() would drop a NaN
            return math.inf
        largest = max(largest, gap / max(scale, np.finfo(np.float32).tiny))
    return largest if math.isfinite(largest) else math.inf


def _float64(array):
    return np.asarray(array, np.float64)


def _close(found, expected, tolerance):
    """(holds, detail) of the comparison of two (value, gradients)."""
    difference = _difference(found, expected)
    return difference <= tolerance, f'largest difference {difference:.1e}, allowed {tolerance:.0e}'


def _all_finite(result):
    return all(bool(np.all(np.isfinite(_float64(leaf)))) for leaf in jax.tree.leaves(result))


def finite_at_zero_rows(case):
    """Value and gradient with the first row zero, and with all of them."""
    for places in (slice(0, 1), slice(None)):
        arrays = dict(case.arrays)
        for name in case.learned_names:
            arrays[name] = arrays[name].copy()
            arrays[name][places] = 0
        if not _all_finite(case.value_and_gradient(arrays)):
            return False, f'not finite with {"one row" if places.stop else "all rows"} zero'
    return True, 'value and gradient'


def finite_at_extreme_temperature(case):
    """Value and gradient at temperatures 0.001 and 100."""
    if case.temperature is None:
        return None, 'no temperature'
    for temperature in (0.001, 100.0):
        other = case.with_options(temperature=temperature)
        if not _all_finite(other.value_and_gradient_eagerly(case.arrays)):
            return False, f'not finite at temperature {temperature}'
    return True, 'value and gradient at 0.001 and 100'


def jit_equals_eager(case):
    """The compiled function gives what the operations one by one give."""
    compiled = case.value_and_gradient(case.arrays)
    return _close(compiled, case.value_and_gradient_eagerly(case.arrays), ROUNDING)


def permuted_pairs_change_nothing(case):
    """Examples in another order give the same value, and the gradient in that order."""
    order = (3 * np.arange(case.rows) + 1) % case.rows  # moves each of 8 rows, and no rotation
    value, gradient = case.value_and_gradient(case.arrays)
    found = case.value_and_gradient(case.permuted(order))
    return _close(found, (value, case.permuted(order, gradient)), ROUNDING)


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
    sharp = case.temperature is not None and np.min(case.temperature) < SHARP
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
            worst = max(worst, _difference(case.value_and_gradient(arrays), expected))
    return worst <= tolerance, f'largest difference {worst:.1e}, allowed {tolerance:.0e}'


def float64_agrees(case):
    """The same function on the same numbers in double precision."""
    single = case.value_and_gradient(case.arrays)
    # Whether the function mixes precisions is its own affair here.
    with jax.enable_x64(True), jax.numpy_dtype_promotion('standard'):
        arrays = {
            name: jnp.asarray(array, np.float64 if array.dtype == np.float32 else array.dtype)
            for name, array in case.arrays.items()
        }
        double = jax.tree.map(np.asarray, case.value_and_gradient(arrays))
    return _close(single, double, ROUNDING)


def mispairing_is_worse(case):
    """Partners moved on by one row raise the loss."""
    if not case.partner_names:
        return None, 'nothing is paired'
    paired = float(case.value_and_gradient(case.arrays)[0])
    mispaired = float(case.value_and_gradient(case.mispaired())[0])
    worse = mispaired < paired if case.function in MAXIMIZED else mispaired > paired
    return worse, f'{paired:.4f} paired, {mispaired:.4f} mispaired'


def finite_with_a_huge_row(case):
    """Value and gradient with the first row of raw projections at 1e20."""
    raw = [n for n in case.learned_names if case.roles[n] in RAW]
    if not raw:
        return None, 'takes no raw projections'
    arrays = dict(case.arrays)
    for name in raw:
        arrays[name] = arrays[name].copy()
        arrays[name][0] *= np.float32(1e20)
    return _all_finite(case.value_and_gradient(arrays)), 'value and gradient at 1e20'


def half_precision_in_float32_out(case):
    """bfloat16 and float16 inputs give the float32 value of the same rounded numbers."""
    for dtype in (jnp.bfloat16, jnp.float16):
        half = {
            name: jnp.asarray(array, dtype) if array.dtype == np.float32 else array
            for name, array in case.arrays.items()
        }
        rounded = {
            name: np.asarray(array, np.float32) if array.dtype == dtype else array
            for name, array in half.items()
        }
        value, gradient = case.value_and_gradient_eagerly(half)
        if value.dtype != jnp.float32:
            return False, f'{value.dtype} from {dtype.__name__}'
        expected = float(case.value_and_gradient(rounded)[0])
        difference = abs(float(value) - expected) / max(1.0, abs(expected))
        if not (difference <= ROUNDING and _all_finite(gradient)):
            return False, f'{float(value):.6g} from {dtype.__name__}, {expected:.6g} from float32'
    return True, 'bfloat16 and float16'


def identical_rows(case):
    """Equal rows everywhere: a softmax over candidates gives the log of their number."""
    row = next(iter(case.arrays[name][0] for name in case.learned_names))
    arrays = {
        name: np.broadcast_to(row, array.shape).copy()
        if array.ndim == 2 and array.dtype == np.float32 and array.shape[1:] == row.shape
        else array
        for name, array in case.arrays.items()
    }
    result = case.value_and_gradient(arrays)
    if not _all_finite(result):
        return False, 'not finite'
    value, pairs = float(result[0]), case.rows
    counts = {'n': pairs, '2n-1': 2 * pairs - 1, '2n': 2 * pairs, '2n-2': 2 * pairs - 2}
    for name, array in case.arrays.items():
        if case.roles[name] in SHARED and array.ndim == 2:
            counts |= {f'rows of {name}': len(array), f'rows of {name} + 1': len(array) + 1}
    for name, count in counts.items():
        if math.isclose(value, math.log(count), abs_tol=1e-4):
            return True, f'{value:.4f} = log {count}, {name}'
    return None, f'{value:.4f}, the log of no usual number of candidates'


def memory_growth(case):
    """How the compiler's temporaries grow when the pairs double from 1,024."""
    sizes = []
    for rows in (1024, 2048):
        large = Case.of(case.function, case.options, rows=rows, dimension=32)
        compiled = large.value_and_gradient.lower(large.arrays).compile()
        sizes.append(compiled.memory_analysis().temp_size_in_bytes)
    ratio = sizes[1] / max(sizes[0], 1)
    growth = 'linear' if ratio < 2.5 else 'quadratic' if ratio < 5 else 'faster than quadratic'
    if sizes[1] < 2**16:
        return None, 'less than 64 KiB at 2,048 pairs'
    return None, f'{sizes[1] / 2**20:.1f} MiB at 2,048 pairs, {ratio:.1f} times 1,024: {growth}'


def standard_losses(case):
    """Which public losses have the same gradient up to a factor, on two sets of inputs."""
    found = []
    for name in losses.__all__:
        function = getattr(losses, name)
        if function is case.function:
            continue
        try:
            factor = _common_factor(case, function)
        except (ValueError, TypeError, KeyError):
            continue  # other inputs, or options that do not fit
        if factor is not None:
            found.append(f'{factor:.4g} x {name}')
    return None, ', '.join(found) or 'none with these options'


def _common_factor(case, function):
    """The f with gradient = f times that of `function`, the same on two inputs; None if none."""
    other = Case.of(function)
    other = other.with_options(**{n: v for n, v in case.options.items() if n in other.options})
    mine = sorted(case.roles, key=case.roles.get)
    theirs = sorted(other.roles, key=other.roles.get)
    if [case.roles[n] for n in mine] != [other.roles[n] for n in theirs]:
        return None
    factors = []
    for seed in (1, 2):
        ours = _gradient(case, mine, seed)
        known = _gradient(other, theirs, seed)
        factor = ours @ known / max(known @ known, np.finfo(np.float64).tiny)
        if not np.max(np.abs(ours - factor * known)) <= 1e-4 * np.max(np.abs(ours)) > 0:
            return None
        factors.append(factor)
    return factors[0] if math.isclose(*factors, rel_tol=1e-3) else None


def _gradient(case, order, seed):
    """The gradient on other inputs, flat, the arrays in the given order."""
    arrays = Case.of(case.function, case.options, seed=seed).arrays
    gradient = case.value_and_gradient(arrays)[1]
    return np.concatenate([_float64(gradient[n]).ravel() for n in order if n in gradient])


MUST_HOLD = (
    finite_at_zero_rows,
    finite_at_extreme_temperature,
    jit_equals_eager,
    permuted_pairs_change_nothing,
    any_number_of_devices,
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
        findings.append(Finding(name, run in MUST_HOLD, holds, detail))
    return findings
