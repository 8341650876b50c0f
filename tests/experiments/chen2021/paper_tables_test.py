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


def test_what_configs_and_claims_say_of_the_paper_is_what_it_printed():
    from configs.chen2021 import multidigits_number, multidigits_size, randbit_notebook
    from experiments.chen2021.claims import CLAIMS

    def cells(rows, **where):
        (row,) = [row for row in rows if all(row[name] == at for name, at in where.items())]
        return [cell for name, cell in row.items() if name[0] in 'nsb' and name[-1].isdigit()]

    simclr, supervised = multidigits_number.LOSSES
    for loss, method in ((simclr, 'simclr'), (supervised, 'supervised')):
        for placement, column in (('random', 'random'), ('grid', 'in_grid')):
            printed = cells(table('table_3'), method=method, placement=column)
            ours = multidigits_number.PAPER[loss, placement]
            assert [100 * cell for cell in ours] == pytest.approx(printed)
    methods = {
        'nt_xent,temperature=0.2': ('simclr', 0.2), 'nt_xent,temperature=0.05': ('simclr', 0.05),
        'multi_label': ('supervised', ''), 'untrained': ('random_net', ''),
    }  # fmt: skip
    for loss, (method, tau) in methods.items():
        for digit, ours in zip(('first', 'second'), multidigits_size.PAPER[loss], strict=True):
            printed = cells(table('table_4'), method=method, tau=tau, evaluated_digit=digit)
            assert [100 * cell for cell in ours] == pytest.approx(printed)
    for temperature, ours in randbit_notebook.REFERENCE.items():
        assert cells(table('notebook'), tau=temperature) == pytest.approx(list(ours))

    values = {claim.id: claim.paper_value for claim in CLAIMS}
    small = {loss: first for loss, (first, _) in multidigits_size.PAPER.items()}
    tau_2, tau_05, labels = list(small.values())[:3]
    assert values['7c'] == pytest.approx(tau_2[-1] - tau_2[0])
    assert values['7d'] == pytest.approx(labels[-1] - labels[0])
    assert values['7e'] == pytest.approx(tau_05[4] - tau_2[4])
    reference = randbit_notebook.REFERENCE
    assert values['5a'] == pytest.approx(reference[0.05][1] - reference[0.2][1])
