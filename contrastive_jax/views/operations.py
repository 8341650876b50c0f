"""What a view is made of: operations that draw parameters and apply them."""

import functools
import inspect
import math
import numbers
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Operation(NamedTuple):
    """One step of a view.

    Attributes:
      apply: (image, parameters) -> image.
      sample: (key, shape of the image [h, w, c]) -> parameters, a dict of scalars named for what
        they are in the whole view (`crop_top`, `hue`); None for a step that draws nothing.
      rest: image -> image, what a step that draws leaves to do where nothing is drawn: nothing,
        but for a crop to another size.
    """

    apply: Callable
    sample: Callable | None = None
    rest: Callable = lambda image: image


def deterministic(function):
    """The operation image -> `function(image)`, which draws nothing."""
    return Operation(apply=lambda image, parameters: function(image))


CLIP = deterministic(lambda image: jnp.clip(image, 0.0, 1.0))


def view(operations_of):
    """The view made of the operations that `operations_of(*, options)` lists.

    Args:
      operations_of: a function of keyword-only options that returns a list of operations.

    Returns:
      A function (key, image, *, options) -> image, whose options and docstring are those of
      `operations_of`, which stays at hand as its attribute `operations_of`.
    """

    @functools.wraps(operations_of)
    def whole_view(key, image, **options):
        return run(key, image, operations_of(**options))[0]

    positional = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for name in ('key', 'image')
    ]
    options = inspect.signature(operations_of).parameters.values()
    whole_view.__signature__ = inspect.Signature([*positional, *options])
    whole_view.operations_of = operations_of
    return whole_view


def with_parameters(view, key, image, **options):
    """A view and the parameters that it drew, to probe any nuisance.

    Args:
      view: one of `contrastive_jax.views.__all__`.
      key: a key.
      image: [h, w, c] float32.
      **options: those of the view.

    Returns:
      (image, parameters): the image is that of `view(key, image, **options)`, the parameters a
      dict of scalars as the operations apply them: an operation that its probability left out
      reports what leaves an image as it is (the whole box, factor 1, shift 0, sigma 0). Names:
      `crop_top`, `crop_left`, `crop_height`, `crop_width` (int32, pixels), `flipped` (bool),
      `brightness`, `contrast`, `saturation`, `hue` (float32), `order` (int32, an index of
      `jittering.ORDERS`), `jittered`, `grey` (bool), `sigma` (float32, pixels); and
      `permutation`, the only array, of `scramble`.
    """
    if not hasattr(view, 'operations_of'):
        raise ValueError(
            f'view is {view!r}, not a function of contrastive_jax.views, whose options are given '
            'behind the image.'
        )
    return run(key, image, view.operations_of(**options))


def without_draws(view, image, **options):
    """What a view leaves of an image when nothing is drawn: what evaluation embeds.

    Crops show the whole image, resized where the view changes the size; flips, jitter, grey, blur
    and scrambling are left out; what draws nothing (`centre_crop`, Lab) stays.

    Args:
      view: one of `contrastive_jax.views.__all__`.
      image: [h, w, c] float32.
      **options: those of the view.

    Returns:
      An image of the shape of `view(key, image, **options)`.
    """
    for operation in view.operations_of(**options):
        image = operation.rest(image) if operation.sample else operation.apply(image, {})
    return image


def run(key, image, operations):
    """The image after all operations, and the parameters of all of them."""
    if image.ndim != 3 or 0 in image.shape:
        raise ValueError(f'image has shape {image.shape}, not [h, w, c] of at least one pixel.')
    drawing = sum(operation.sample is not None for operation in operations)
    # A view that draws once uses the key itself.
    keys = iter(jax.random.split(key, drawing) if drawing > 1 else [key])
    parameters = {}
    for operation in operations:
        drawn = operation.sample(next(keys), image.shape) if operation.sample else {}
        image = operation.apply(image, drawn)
        parameters.update(drawn)
    return image, parameters


def check_number(name, value, least, most):
    """Raises ValueError unless `value` is a number in [least, most]; a bool is none."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not least <= value <= most:
        raise ValueError(f'{name} is {value!r}, not a number in [{least}, {most}].')


def check_range(name, pair, most=math.inf):
    """Raises ValueError unless `pair` is two rising numbers, positive, finite, at most `most`."""
    two = isinstance(pair, tuple | list) and len(pair) == 2
    two = two and all(isinstance(end, numbers.Real) for end in pair)
    if two and 0 < pair[0] <= pair[1] <= most and math.isfinite(pair[1]):
        return
    bound = 'positive numbers' if most == math.inf else f'numbers in (0, {most}]'
    raise ValueError(f'{name} is {pair!r}, not two rising {bound}.')


def check_probability(name, probability):
    """Raises ValueError unless `probability` is a number in [0, 1]."""
    check_number(name, probability, 0, 1)


def integer_below(draws, bound):
    """Uniform draws from [0, 1) as integers 0..bound-1, as floats."""
    # The product rounds up to the bound itself for the largest draws.
    return jnp.minimum(jnp.floor(draws * bound), bound - 1.0)
