"""The sections of a config: replaced whole by text, and bound as functions."""

import inspect

from contrastive_jax import names
from contrastive_jax.errors import BadInput

# Sections that text replaces whole: another name has other options.
REPLACEABLE = {
    'data': 'multidigits,num_digits=4',
    'model': 'mlp,widths=(64,64),head_widths=(2,)',
    'loss': 'my_module:my_loss,margin=0.2',
    'views': 'crop_and_flip,method=cubic',
    'optimizer': 'lars,learning_rate=0.2,scaling=square_root,weight_decay=1e-4',
    'evaluation': 'knn,k=20',
}

# What a config may lack; text gives it whole.
OPTIONAL = {
    'memory': 'momentum=0.5,background=nearest(count=1024)',
    'target': 'momentum=0.99,schedule=cosine',
    'decoder': 'dimensions=32,widths=(256,)',
    'init_from': 'runs/before@2000',
    'online_probe': 'factor=label',
    'measure': 'clusters=(4,8)',
}


def replace(config, section, text):
    """Replaces a section of a config whole, in place.

    Args:
      config: a ConfigDict.
      section: one of `REPLACEABLE` or `OPTIONAL`.
      text: as the example of the section there; '' takes an optional section away.

    Raises:
      BadInput: text of another form, or none for a section that every config has.
    """
    with config.unlocked():
        if section in OPTIONAL:
            if text:
                config[section] = text if section == 'init_from' else names.parse_options(text)
            elif section in config:
                del config[section]
            return
        name, options = names.parse_call(text)
        if not name:
            raise BadInput(f"config.{section} is '', not like '{REPLACEABLE[section]}'.")
        named = {'name': name}
        if section == 'data':  # the source stays, unless it is among the options
            named = {'probing': name, 'source': config.data.source}
            named['data_dir'] = config.data.data_dir
        config[section] = {**named, **options}


def options_of(section, *taken):
    """The options of a section of the config: all but the fields in `taken`, as a plain dict."""
    return {name: value for name, value in section.items() if name not in taken}


def bind_section(module, section, field, supplied=None, taken=()):
    """The function a section names, bound to the section's options but for those `taken`.

    `supplied` are options of the program, which no config sets; the function gets those that are
    among its parameters.
    """
    if 'name' not in section:
        raise BadInput(
            f'config.{field}.name is missing; it is one of: {", ".join(module.__all__)}.'
        )
    function = names.pick(module, section['name'], f'{field}.name')
    parameters = inspect.signature(function).parameters
    supplied = {name: value for name, value in (supplied or {}).items() if name in parameters}
    bound = names.bind(
        function, options_of(section, 'name', *taken), field, supplied=tuple(supplied)
    )
    return lambda *args: bound(*args, **supplied)
