"""Names become functions: look a name up in a module's public list, bind keywords to it."""

import ast
import contextlib
import difflib
import functools
import importlib
import inspect
import math

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


def pick_or_import(module, name, field):
    """The member `name` of `module.__all__`, or a user's own function.

    Args:
      module: a module with an `__all__`.
      name: one of its names, an import path 'package.module:function', or the function itself.
      field: what the name was read from, for the error: 'loss.name'.

    Returns:
      The function.

    Raises:
      BadInput: an unknown name, a module that cannot be imported, or no such function in it.
    """
    if callable(name):
        return name
    path, colon, function_name = str(name).partition(':')
    if not colon:
        return pick(module, name, field)
    try:
        users = importlib.import_module(path)
    except Exception as error:  # the module is the user's: anything may happen in it
        raise BadInput(
            f'{path!r} cannot be imported: {type(error).__name__}: {" ".join(str(error).split())}'
        ) from error
    function = getattr(users, function_name, None)
    if not callable(function):
        known = [key for key, value in vars(users).items() if callable(value) and key[0] != '_']
        raise BadInput(
            f'{path!r} has no function {function_name!r}.' + nearest(function_name, known)
        )
    return function


def public_name(module, function):
    """The name under which `module.__all__` lists a function, or None."""
    return next((n for n in module.__all__ if getattr(module, n) is function), None)


def path_of(module, function, field):
    """What `pick_or_import` finds a function by in another process.

    Args:
      module: a module with an `__all__`.
      function: one of its members, or a user's own function.
      field: what the function was given as, for the error: 'loss.name'.

    Returns:
      Its name in the list, or its import path 'package.module:function'.

    Raises:
      BadInput: a function that cannot be found again: a lambda, a function made inside another
        or in `__main__` (a notebook or a script), a partial, an object with `__call__`.
    """
    if name := public_name(module, function):
        return name
    home = getattr(function, '__module__', None)
    path = f'{home}:{getattr(function, "__qualname__", None)}'
    if home and home != '__main__':
        with contextlib.suppress(BadInput):
            if pick_or_import(module, path, field) is function:
                return path
    raise BadInput(
        f'config.{field} is {function!r}, which another process cannot import: a run that is kept '
        "in a workdir needs a function at the top of a module, given as itself or as 'module:name'."
    )


def parse_call(text):
    """A name and its options from text: 'knn,k=1' is ('knn', {'k': 1}).

    Args:
      text: a name, then options as in a call: 'my_module:my_loss,temperature=0.1,kind=cosine'. A
        bare word is a string.

    Returns:
      (name, dict of options).

    Raises:
      BadInput: text of another form.
    """
    name, _, options = text.partition(',')
    return name.strip(), parse_options(options)


def parse_options(text):
    """Options from text: 'momentum=0.5,close=nearest(count=10)' is a dict of two.

    Args:
      text: options as in a call. A bare word is a string; a call is a section with its `name`, or,
        of `dict`, one without.

    Returns:
      dict of options.

    Raises:
      BadInput: text of another form.
    """
    try:
        return options_of_call(ast.parse(f'call({text})', mode='eval').body)
    except (AttributeError, SyntaxError, ValueError) as error:
        raise BadInput(
            f'{text!r} must look like option=value,option=value, of Python values.'
        ) from error


def options_of_call(call):
    """The keywords of a parsed call as a dict."""
    if call.args or any(keyword.arg is None for keyword in call.keywords):
        raise SyntaxError
    return {keyword.arg: value_of(keyword.value) for keyword in call.keywords}


def value_of(node):
    """The value that a parsed expression stands for, see `parse_options`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call):
        named = {} if node.func.id == 'dict' else {'name': node.func.id}
        return {**named, **options_of_call(node)}
    return ast.literal_eval(node)


def bind(function, options, field, supplied=(), arrays=None):
    """`function` with `options` bound, checked against its signature at once.

    Args:
      function: any function or class with options.
      options: dict of option name to value.
      field: what the options were read from, for the error: 'loss'.
      supplied: names of options that the caller passes later.
      arrays: how many parameters the caller passes by position; the others are options. By
        default the options are the keyword-only parameters.

    Returns:
      A partial of `function`.

    Raises:
      BadInput: an unknown option, or a required one that is missing; the message shows the
        options there are and the nearest valid name.
    """
    parameters = list(inspect.signature(function).parameters.values())
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    keywords = {
        parameter.name: parameter
        for place, parameter in enumerate(parameters)
        if parameter.name not in supplied
        and (
            parameter.kind is parameter.KEYWORD_ONLY
            or (parameter.kind is parameter.POSITIONAL_OR_KEYWORD and place >= (arrays or math.inf))
        )
    }
    title = getattr(function, '__name__', repr(function))
    shown = ', '.join(str(parameter) for parameter in keywords.values()) or 'none'
    for name in options:
        if name not in keywords and not open_ended:
            raise BadInput(
                f'config.{field}.{name} is not an option of {title}, whose options '
                f'are: {shown}.' + nearest(name, keywords)
            )
    for name, parameter in keywords.items():
        if parameter.default is parameter.empty and name not in options:
            raise BadInput(
                f'config.{field}.{name} is missing; the options of {title} are: {shown}.'
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
