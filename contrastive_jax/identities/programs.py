"""Traced functions, equation by equation: what they round, and which gradients are by hand."""

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Literal

# Calls whose inner program gives the value; the first two carry a gradient written by hand.
BY_HAND = ('custom_vjp_call', 'custom_jvp_call')
CALLS = {**dict.fromkeys((*BY_HAND, 'closed_call'), 'call_jaxpr'), 'jit': 'jaxpr'}


def equations(jaxpr):
    """Every equation of a program, those of its inner programs included."""
    for equation in jaxpr.eqns:
        yield equation
        for inner in inner_programs(equation):
            yield from equations(inner)


def inner_programs(equation):
    """The programs that an equation runs: bodies of loops, branches, calls."""
    return [p for p in jax.tree.leaves(list(equation.params.values())) if hasattr(p, 'eqns')]


def rounds_doubles(jaxpr):
    """Whether any operation takes double precision and gives a narrower floating type."""

    def bits(atoms):
        types = [atom.aval.dtype for atom in atoms if hasattr(atom.aval, 'dtype')]
        return [jnp.finfo(t).bits for t in types if jnp.issubdtype(t, jnp.floating)]

    return any(
        64 in bits(equation.invars) and min(bits(equation.outvars), default=64) < 64
        for equation in equations(jaxpr)
        if not inner_programs(equation)
    )


def gradients_by_hand(jaxpr):
    """Whether a program holds a `jax.custom_vjp` or `jax.custom_jvp`."""
    return any(equation.primitive.name in BY_HAND for equation in equations(jaxpr))


def derivable(jaxpr):
    """Whether JAX can derive what is by hand: floats rewritten as integers have no derivative."""
    return not any(
        inner.primitive.name == 'bitcast_convert_type'
        for equation in equations(jaxpr)
        if equation.primitive.name in BY_HAND
        for inner in equations(equation.params['call_jaxpr'])
    )


def evaluate_without_rules(closed, arguments):
    """The values of a program in which JAX derives every gradient.

    Args:
      closed: a program with its constants, as `jax.make_jaxpr` makes it.
      arguments: its flat list of arrays.

    Returns:
      The flat list of its results.
    """
    values = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    values |= zip(closed.jaxpr.invars, arguments, strict=True)
    for equation in closed.jaxpr.eqns:
        operands = [a.val if isinstance(a, Literal) else values[a] for a in equation.invars]
        primitive = equation.primitive
        if primitive.name in CALLS:
            results = evaluate_without_rules(equation.params[CALLS[primitive.name]], operands)
        else:
            parameters = {n: _without_rules(p) for n, p in equation.params.items()}
            results = primitive.bind(*operands, **parameters)
            results = results if primitive.multiple_results else [results]
        values |= zip(equation.outvars, results, strict=True)
    return [a.val if isinstance(a, Literal) else values[a] for a in closed.jaxpr.outvars]


def _without_rules(parameter):
    """A parameter of an operation, the programs in it without gradients written by hand."""
    if isinstance(parameter, tuple):
        plain = [_without_rules(entry) for entry in parameter]
        changed = any(new is not old for new, old in zip(plain, parameter, strict=True))
        return tuple(plain) if changed else parameter  # named tuples stay what they are
    if not (isinstance(parameter, ClosedJaxpr) and gradients_by_hand(parameter)):
        return parameter
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in parameter.in_avals]
    return jax.make_jaxpr(lambda *inner: evaluate_without_rules(parameter, inner))(*shapes)
