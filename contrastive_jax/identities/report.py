"""From text to a loss, and from findings to a table."""

import ast
import importlib

from contrastive_jax import losses, names

WORDS = {True: 'holds', False: 'fails', None: '-'}


def loss_of(text):
    """The loss that a text names, and its options.

    Args:
      text: 'module:function' or a name of `contrastive_jax.losses`, then options as in a call:
        'my_module:my_loss,temperature=0.1,kind=cosine'. A bare word is a string.

    Returns:
      (function, dict of options).

    Raises:
      ValueError: text of another form, or a module or function that is not there.
    """
    path, _, rest = text.partition(',')
    return _function(path.strip()), _options(rest)


def _function(path):
    module_name, colon, name = path.partition(':')
    if not colon:
        return names.pick(losses, path, 'loss.name')
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # the module is the user's: anything may happen in it
        raise ValueError(
            f'{module_name!r} cannot be imported: {type(error).__name__}: {error}'
        ) from error
    function = getattr(module, name, None)
    if not callable(function):
        known = [n for n, value in vars(module).items() if callable(value) and n[0] != '_']
        raise ValueError(f'{module_name!r} has no function {name!r}.{names.nearest(name, known)}')
    return function


def _options(text):
    """The keywords of a call as a dict: literals, and bare words as strings."""
    try:
        call = ast.parse(f'call({text})', mode='eval').body
        if call.args or any(keyword.arg is None for keyword in call.keywords):
            raise SyntaxError
        return {
            keyword.arg: keyword.value.id
            if isinstance(keyword.value, ast.Name)
            else ast.literal_eval(keyword.value)
            for keyword in call.keywords
        }
    except (AttributeError, SyntaxError, ValueError) as error:
        raise ValueError(f'options must look like name=value,name=value, got {text!r}.') from error


def table(findings):
    """The findings in lines of name, verdict and detail; those that must hold come first."""
    width = max(len(finding.name) for finding in findings)
    lines = []
    for title, must in (('must hold', True), ('reported', False)):
        lines.append(f'{title}:')
        lines += [
            f'  {finding.name:{width}}  {WORDS[finding.holds]:5}  {finding.detail}'
            for finding in findings
            if finding.must == must
        ]
    return '\n'.join(lines)
