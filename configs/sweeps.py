"""Sweeps are lists of {dotted field: value}; these helpers make them."""

import itertools


def product(**axes):
    """Every combination of the values of the axes; `__` in a name stands for a dot.

    product(data__num_bits=(0, 8), seed=(0, 1)) has four points; the last axis varies fastest.
    """
    names = [name.replace('__', '.') for name in axes]
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*axes.values())]
