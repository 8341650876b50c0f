"""Numbers of a config in their ranges."""

import math
import numbers

from contrastive_jax.errors import BadInput


def check_number(field, value, *, least=-math.inf, most=math.inf, above=-math.inf, whole=False):
    """Raises BadInput unless a field of the config is a number in its range; a bool is none.

    Args:
      field: dotted, without 'config.'.
      value: what it says.
      least: the smallest number it may be.
      most: the largest.
      above: what it must be larger than.
      whole: whether it must be an integer.
    """
    kind = numbers.Integral if whole else numbers.Real
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    if is_number and least <= value <= most and above < value < math.inf:
        return
    bounds = [f'at least {least}'] * (least > -math.inf) + [f'above {above}'] * (above > -math.inf)
    bounds += [f'at most {most}'] * (most < math.inf)
    noun = 'a whole number' if whole else 'a number'
    raise BadInput(f'config.{field} is {value!r}; it must be {noun}, {" and ".join(bounds)}.')
