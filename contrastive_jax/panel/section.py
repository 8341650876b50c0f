"""What a section of the panel holds: measures of each representation, pictures, and words."""

from typing import NamedTuple


class Value(NamedTuple):
    """A number with its 95 % interval, where there is one.

    Attributes:
      value: a float.
      low, high: of the interval, or None.
    """

    value: float
    low: float | None = None
    high: float | None = None


class Measure(NamedTuple):
    """One quantity of each representation: a row of a table.

    Attributes:
      name: as in the report.
      values: dict of a column of the table, as a rule a representation, to `Value`.
      meaning: how to read it, in words.
    """

    name: str
    values: dict
    meaning: str


class Section(NamedTuple):
    """A part of the report.

    Attributes:
      title: of it.
      text: what it tells, or why there is nothing to tell.
      measures: a list of `Measure`.
      pictures: dict of caption to PNG bytes.
      warnings: sentences of the doctor.
      details: what is too long for a table and stands in the JSON alone: nested dicts of numbers,
        words and arrays of them.
    """

    title: str
    text: str = ''
    measures: tuple = ()
    pictures: dict = {}
    warnings: tuple = ()
    details: dict = {}


def value_of(results, name):
    """The `Value` of a name, with its `<name>_low` and `<name>_high` where there are any."""
    low, high = (results.get(f'{name}_{end}') for end in ('low', 'high'))
    return Value(float(results[name]), *(None if x is None else float(x) for x in (low, high)))


def measures_of(results, meanings):
    """Measures from {representation: results}, in the order of `meanings`: {name: meaning}."""
    return [
        Measure(
            name,
            {of: value_of(found, name) for of, found in results.items() if name in found},
            meaning,
        )
        for name, meaning in meanings.items()
        if any(name in found for found in results.values())
    ]
