"""Floating-point operations of a program, from its jaxpr: loops counted as often as they run."""

from typing import NamedTuple

import numpy as np
from jax import lax
from jax.extend import core

# Passes of bfloat16 products that a TPU makes of one float32 product, by precision.
PASSES = {lax.Precision.DEFAULT: 1, lax.Precision.HIGH: 3, lax.Precision.HIGHEST: 6}


class Flops(NamedTuple):
    """What a program computes.

    Attributes:
      products: multiplications and additions of matrix products and convolutions.
      passes: the same, each times the bfloat16 passes that a TPU makes of it.
      unknown_loops: loops whose number of turns is not in the program; counted as one turn.
    """

    products: float = 0.0
    passes: float = 0.0
    unknown_loops: int = 0

    def __add__(self, other):
        return Flops(*(a + b for a, b in zip(self, other, strict=True)))

    def times(self, count):
        """So many repetitions."""
        return Flops(self.products * count, self.passes * count, self.unknown_loops)


def flops_of(jaxpr):
    """The operations of a jaxpr, of all devices together.

    A product of [m, k] and [k, n] is 2 m k n. A convolution is 2 for each pair of an output and a
    kernel entry that meets an entry of the input: neither padding nor the zeros of a dilated input
    count. A `scan` is its body times its length, a `shard_map` its body times its devices, a `cond`
    its largest branch.

    Args:
      jaxpr: a Jaxpr or ClosedJaxpr.

    Returns:
      `Flops`.
    """
    jaxpr = getattr(jaxpr, 'jaxpr', jaxpr)
    return sum(map(_of_equation, jaxpr.eqns), Flops())


def _of_equation(equation):
    name, parameters = equation.primitive.name, equation.params
    if name == 'dot_general':
        return _of_product(equation)
    if name == 'conv_general_dilated':
        return _of_convolution(equation)
    if name == 'cond':
        return max(map(flops_of, parameters['branches']), default=Flops())
    if name == 'while':
        inside = flops_of(parameters['body_jaxpr']) + flops_of(parameters['cond_jaxpr'])
        return inside + Flops(unknown_loops=1 if inside.products else 0)
    inside = sum(map(flops_of, _jaxprs_in(parameters.values())), Flops())
    if name == 'scan':
        return inside.times(parameters['length'])
    if name == 'shard_map':
        shape = parameters['mesh'].shape
        axes = parameters.get('manual_axes', shape)
        return inside.times(int(np.prod([shape[axis] for axis in axes])))
    return inside


def _jaxprs_in(values):
    for value in values:
        if isinstance(value, core.Jaxpr | core.ClosedJaxpr):
            yield value
        elif isinstance(value, tuple | list):
            yield from _jaxprs_in(value)


def _of_product(equation):
    left, out = equation.invars[0].aval, equation.outvars[0].aval
    (contracted, _), _ = equation.params['dimension_numbers']
    products = 2.0 * np.prod(out.shape) * np.prod([left.shape[axis] for axis in contracted])
    return Flops(products, products * _passes(equation))


def _of_convolution(equation):
    left, kernel = (variable.aval.shape for variable in equation.invars)
    out, parameters = equation.outvars[0].aval.shape, equation.params
    numbers = parameters['dimension_numbers']
    meetings = 1
    for place, (low, _) in enumerate(parameters['padding']):
        left_axis, kernel_axis, out_axis = (
            spec[2 + place] for spec in (numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec)
        )
        dilation = parameters['lhs_dilation'][place]
        # Where in the dilated input each output and kernel entry meet.
        starts = np.arange(out[out_axis]) * parameters['window_strides'][place] - low
        taps = np.arange(kernel[kernel_axis]) * parameters['rhs_dilation'][place]
        at = starts[:, None] + taps
        inside = (at >= 0) & (at <= (left[left_axis] - 1) * dilation) & (at % dilation == 0)
        meetings *= int(inside.sum())
    rows, features = (out[numbers.out_spec[axis]] for axis in (0, 1))
    products = 2.0 * rows * features * kernel[numbers.rhs_spec[1]] * meetings
    return Flops(products, products * _passes(equation))


def _passes(equation):
    if not all(variable.aval.dtype == np.float32 for variable in equation.invars):
        return 1
    precision = equation.params['precision']
    highest = max(precision if isinstance(precision, tuple) else (precision,), key=_passes_of)
    return _passes_of(highest)


def _passes_of(precision):
    return PASSES.get(precision, 1)
