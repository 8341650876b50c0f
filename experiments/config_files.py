"""Config files: the module behind --config, and values for its fields given as text."""

import ast
import importlib.util

from absl import flags
from ml_collections import config_flags

from contrastive_jax import names
from contrastive_jax.errors import BadInput
from contrastive_jax.training.sections import OPTIONAL, REPLACEABLE, replace


def define(workdir=True, required=True):
    """Defines --config and --workdir, and a flag for each replaceable section.

    Args:
      workdir: whether the command has a --workdir.
      required: whether both must be given.
    """
    config_flags.DEFINE_config_file('config', None, 'The config file to run.')
    if workdir:
        flags.DEFINE_string('workdir', None, 'The directory that keeps what is written.')
    for section, example in REPLACEABLE.items():
        flags.DEFINE_string(section, '', f"Replaces config.{section} whole: '{example}'.")
    for field, example in OPTIONAL.items():
        flags.DEFINE_string(field, '', f"Gives config.{field}: '{example}'.")
    flags.DEFINE_bool(
        'deterministic', False, 'On a GPU, only operations that repeat to the bit; they are slower.'
    )
    if required:
        flags.mark_flags_as_required(['config', 'workdir'] if workdir else ['config'])


def config_and_overrides():
    """The config as the flags say, and what they changed in it as {dotted field: value}."""
    config = flags.FLAGS.config
    overrides = config_flags.get_override_values(flags.FLAGS['config'])
    for section in (*REPLACEABLE, *OPTIONAL):
        if text := flags.FLAGS[section].value:
            replace(config, section, text)
            overrides = {**overrides, section: text}
    return config, overrides


def check_field(config, field):
    """Raises BadInput unless the config has a dotted field that a flag wants to change."""
    section = field.partition('.')[0]
    if section in OPTIONAL and section not in config:
        raise BadInput(
            f'config.{field} does not exist: this config has no {section}. Give it whole, as in '
            f"--{section}='{OPTIONAL[section]}'."
        )
    names.check_field(config, field)


def module_of_config():
    """The module of the config file, for its sweep() and figure()."""
    return load(config_flags.get_config_filename(flags.FLAGS['config']).split(':')[0])


def load(path):
    """The module of a Python file."""
    spec = importlib.util.spec_from_file_location('config_file', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parse_axes(texts):
    """Axes as a dict of field to values; a field given twice is a BadInput."""
    axes = {}
    for field, values in map(parse_axis, texts):
        if field in axes:
            raise BadInput(f'--axis {field} is given twice; put all of its values into one.')
        axes[field] = values
    return axes


def parse_axis(text):
    """'data.num_bits=0,4,8' as ('data.num_bits', [0, 4, 8]).

    Raises:
      BadInput: no '=' or no value.
    """
    field, equals, values = text.partition('=')
    field = field.strip().removeprefix('config.')
    if not equals or not field or not values.strip():
        raise BadInput(f'--axis is {text!r}; it looks like data.num_bits=0,4,8.')
    return field, parse_values(values)


def parse_values(text):
    """Comma-separated Python values; what is no Python value is text."""
    try:
        return [tupled(value) for value in ast.literal_eval(text.strip().rstrip(',') + ',')]
    except (ValueError, SyntaxError):
        return [parse_value(piece.strip()) for piece in text.split(',')]


def tupled(value):
    """The value with tuples for lists, as a config has them."""
    return tuple(map(tupled, value)) if isinstance(value, list | tuple) else value


def parse_value(text):
    """A Python value, or the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {'true': True, 'false': False}.get(text, text)
