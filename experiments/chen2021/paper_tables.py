"""The paper's numeric tables, as they stand in results/chen2021/paper."""

import csv
from pathlib import Path

DIRECTORY = Path(__file__).parents[2] / 'results' / 'chen2021' / 'paper'


def table(name):
    """The rows of a table as dicts, numbers as int or float.

    Args:
      name: such as 'table_a1', of the file without its ending.
    """
    lines = (DIRECTORY / f'{name}.csv').read_text(encoding='utf-8').splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith('#'))
    return [{column: _number(cell) for column, cell in row.items()} for row in rows]


def _number(cell):
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            pass
    return cell
