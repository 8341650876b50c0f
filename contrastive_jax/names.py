"""Names become functions: look a name up in a module's public list, bind keywords to it."""

import difflib
import functools
import inspect


def nearest(name, choices):
    """', did you mean X?' for the choice most like `name`, or an empty string."""
    close = difflib.get_close_matches(str(name), list(choices), n=1)
    return f', did you mean {close[0]!r}?' if close else ''


def pick(module, name, field):
    """The member `name` of `module.__all__`.

    Args:
      module: a module with an `__all__`.
      name: the name to look up.
      field: what the name was read from, for the error: 'loss.name'.

    Returns:
      The member.

    Raises:
      ValueError: `name` is not in the list; the message lists the choices.
    """
    if name not in module.__all__:
        choices = ', '.join(sorted(module.__all__))
        raise ValueError(
            f'config.{field} is {name!r}{nearest(name, module.__all__)} Valid choices: {choices}.'
        )
    return getattr(module, name)


def bind(function, options, field, supplied=()):
    """`function` with keyword `options` bound, checked against its signature before anything runs.

    Args:
      function: any function with keyword-only options.
      options: dict of option name to value.
      field: what the options were read from, for the error: 'loss'.
      supplied: names of parameters that the caller will pass later.

    Returns:
      A partial of `function`.

    Raises:
      ValueError: an unknown option, or a required one that is missing; the message shows the
        signature and the nearest valid name.
    """
    signature = inspect.signature(function)
    keywords = {
        name: parameter
        for name, parameter in signature.parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name not in supplied
    }
    shown = f'{function.__name__}{signature}'
    for name in options:
        if name not in keywords:
            raise ValueError(
                f'config.{field}.{name} is not an option of {shown}{nearest(name, keywords)}'
            )
    for name, parameter in keywords.items():
        if parameter.default is parameter.empty and name not in options:
            raise ValueError(f'config.{field}.{name} is missing: {shown} requires it.')
    return functools.partial(function, **options)
