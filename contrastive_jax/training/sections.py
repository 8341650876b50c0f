"""A section of a config becomes a function with its options bound."""

from contrastive_jax import names
from contrastive_jax.errors import BadInput


def options_of(section, *taken):
    """The options of a section of the config: all but the fields in `taken`, as a plain dict."""
    return {name: value for name, value in section.items() if name not in taken}


def bind_section(module, section, field, supplied=None, taken=()):
    """The function a section names, bound to the section's options but for those `taken`."""
    if 'name' not in section:
        raise BadInput(
            f'config.{field}.name is missing; it is one of: {", ".join(module.__all__)}.'
        )
    function = names.pick(module, section['name'], f'{field}.name')
    bound = names.bind(
        function, options_of(section, 'name', *taken), field, supplied=tuple(supplied or ())
    )
    return lambda *args: bound(*args, **(supplied or {}))
