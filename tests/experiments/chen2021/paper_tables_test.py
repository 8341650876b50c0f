"""The typed tables: complete, of sensible numbers, and agreeing where the paper prints twice."""

import pytest

from experiments.chen2021.paper_tables import DIRECTORY, table

ROWS = {
    'table_2': 9, 'table_3': 4, 'table_4': 8, 'table_a1': 20, 'table_a2': 15, 'table_a3': 15,
    'notebook': 3,
}  # fmt: skip
EPOCHS = ('ep100', 'ep200', 'ep400', 'ep800')


@pytest.mark.parametrize('name', ROWS)
def test_every_cell_is_there(name):
    rows = table(name)
    assert len(rows) == ROWS[name]
    most = 1 if name == 'notebook' else 100
    for row in rows:
        accuracies = [
            cell for column, cell in row.items()
            if column.startswith(('ep', 'n1', 'n2', 'n4', 'n8', 'size', 'bits'))
        ]  # fmt: skip
        assert len(accuracies) >= 4
        assert all(0.09 * most < accuracy <= most for accuracy in accuracies)


def test_no_other_table_is_there():
    assert {path.stem for path in DIRECTORY.glob('*.csv')} == set(ROWS)


def test_table_2_repeats_the_nt_xent_rows_of_the_appendix():
    for layers, name in ((2, 'table_a2'), (3, 'table_a3')):
        again = [row for row in table('table_2') if row['head_layers'] == layers]
        first = [row for row in table(name) if row['loss'] == 'nt_xent']
        for one, other in zip(first, again, strict=True):
            assert [one[epochs] for epochs in EPOCHS] == [other[epochs] for epochs in EPOCHS]
