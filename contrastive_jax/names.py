"""Names become functions: look a name up in a module's public list, bind keywords to it."""

import difflib
import functools
import inspect

from contrastive_jax.errors import BadInput


def nearest(name, choices):
    """' Did you mean X?' for the choice most like `name`, or an empty string."""
    close = difflib.get_close_matches(str(name), list(choices), n=1)
    return f' Did you mean {close[0]!r}?' if close else ''


def pick(module, name, field):
    """The member `name` of `module.__all__`.

    Args:
      module: a module with an `__all__`.
      name: the name to look up.
      field: what the name was read from, for the error: 'loss.name'.

    Returns:
      The member.

    Raises:
      BadInput: `name` is not in the list; the message lists the choices.
    """
    if name not in module.__all__:
        raise BadInput(
            f'config.{field} is {name!r}, not one of: {", ".join(sorted(module.__all__))}.'
            + nearest(name, module.__all__)
        )
    return getattr(module, name)


def bind(function, options, field, supplied=()):
    """`function` with keyword-only `options` bound, checked against its signature at once.

    Args:
      function: any function or class with keyword-only options.
      options: dict of option name to value.
      field: what the options were read from, for the error: 'loss'.
      supplied: names of keyword-only parameters that the caller passes later.

    Returns:
      A partial of `function`.

    Raises:
      BadInput: an unknown option, or a required one that is missing; the message shows the
        options there are and the nearest valid name.
    """
    parameters = inspect.signature(function).parameters.values()
    keywords = {
        parameter.name: parameter
        for parameter in parameters
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in supplied
    }
    shown = ', '.join(str(parameter) for parameter in keywords.values()) or 'none'
    for name in options:
        if name not in keywords:
            raise BadInput(
                f'config.{field}.{name} is not an option of {function.__name__}, whose options '
                f'are: {shown}.' + nearest(name, keywords)
            )
    for name, parameter in keywords.items():
        if parameter.default is parameter.empty and name not in options:
            raise BadInput(
                f'config.{field}.{name} is missing; the options of {function.__name__} are: '
                f'{shown}.'
            )
    return functools.partial(function, **options)


def check_field(config, dotted):
    """Raises BadInput unless a nested mapping has the dotted field, naming the fields there are.

    Args:
      config: a ConfigDict or a dict of dicts.
      dotted: such as 'data.num_bits'.
    """
    at, walked = config, 'config'
    for name in dotted.split('.'):
        fields = list(at) if hasattr(at, 'keys') else []
        if name not in fields:
            shown = f'its fields are: {", ".join(sorted(fields))}' if fields else 'it is a value'
            raise BadInput(
                f'config.{dotted} does not exist: {walked} has no {name!r}; {shown}.'
                + nearest(name, fields)
            )
        at, walked = at[name], f'{walked}.{name}'
