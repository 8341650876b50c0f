"""What is worth knowing of a loss, and need not hold for every one."""

import math

import jax.numpy as jnp
import numpy as np

from contrastive_jax import losses
from contrastive_jax.identities.comparison import ROUNDING, all_finite, float64
from contrastive_jax.identities.inputs import SHARED, Case

# Estimates, which pairs make larger; every other function is minimised.
MAXIMIZED = (losses.nwj, losses.barber_agakov)
# Inputs that a loss normalises itself.
RAW = ('z1', 'z2', 'z', 'predictions1', 'predictions2')


def mispairing_is_worse(case):
    """Partners moved on by one row raise the loss."""
    if not case.partner_names:
        return None, 'nothing is paired'
    paired = float(case.value_and_gradient(case.arrays)[0])
    mispaired = float(case.value_and_gradient(case.mispaired())[0])
    rise = paired - mispaired if case.function in MAXIMIZED else mispaired - paired
    # A loss that ignores the pairs differs by the order of its sums.
    worse = rise > ROUNDING * max(1.0, abs(paired))
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
    finite = all_finite(case.results(arrays))
    return finite, f'value, parts and gradient{"" if finite else " not all finite"} at 1e20'


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
            return False, f'the value is {value.dtype} from {dtype.__name__}'
        expected = float(case.value_and_gradient(rounded)[0])
        difference = abs(float(value) - expected) / max(1.0, abs(expected))
        if not (difference <= ROUNDING and all_finite(gradient)):
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
    if not all_finite(result):
        return False, 'not finite'
    value, pairs = float(result[0]), case.rows
    counts = {'n': pairs, '2n-1': 2 * pairs - 1, '2n': 2 * pairs, '2n-2': 2 * pairs - 2}
    for name, array in case.arrays.items():
        if case.roles[name] in SHARED and array.ndim == 2:
            counts |= {f'rows of {name}': len(array), f'rows of {name} + 1': len(array) + 1}
    for name, count in counts.items():
        if math.isclose(value, math.log(count), abs_tol=1e-4):
            return True, f'{value:.4f} = log {count}, {name}'
        if math.isclose(value, pairs * math.log(count), abs_tol=1e-3):
            return None, f'{value:.4f} = {pairs} log {count}, {name}: a sum over n, not their mean'
    return None, f'{value:.4f}, the log of no usual number of candidates'


def memory_growth(case):
    """How the compiler's temporaries grow when the pairs double from 1,024."""
    sizes = []
    for rows in (1024, 2048):
        large = Case.of(case.function, case.options, rows=rows, dimension=32)
        compiled = large.results.lower(large.arrays).compile()
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
    return np.concatenate([float64(gradient[n]).ravel() for n in order if n in gradient])
