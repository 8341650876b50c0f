"""A sweep and an evaluation on several processes."""

import csv
import math

import pytest

from tests.training import processes

SWEEP = {'program': ('-m', 'experiments.sweep')}
EVALUATE = {'program': ('-m', 'experiments.evaluate'), 'config': None}
SHORT = ('--config.num_steps=9',)
POINTS = ('--axis', 'optimizer.learning_rate=1e38,3e-3')
ONE_POINT = ('--axis', 'optimizer.learning_rate=3e-3')


def table(path):
    with (path / 'results.csv').open() as file:
        return list(csv.DictReader(file))


def said(out):
    """The lines that a process printed, without those of the library that connects them."""
    return [line for line in out.splitlines() if not line.startswith('[Gloo]')]


def assert_close(found, expected):
    """Two dicts of text: the same but for the clock and a rounding."""
    assert found.keys() == expected.keys()
    for name in found.keys() - {'seconds', 'workdir'}:
        a, b = float(found[name]), float(expected[name])
        assert math.isclose(a, b, rel_tol=2e-6, abs_tol=2e-6), (name, a, b)


@pytest.mark.slow
def test_a_sweep_and_an_evaluation_on_two_processes_are_those_of_one(tmp_path):
    lines, numbers = {}, {}
    for name, count, devices in (('alone', 1, 4), ('group', 2, 2)):
        root, of = tmp_path / name, dict(devices=devices)
        done = processes.finish(processes.start(root, count, *SHORT, *POINTS, **SWEEP, **of))
        # One point fails, the other is gone on to, and the table has it.
        assert [code for code, _, _ in done] == [1] * count, done
        assert 'learning_rate=1e+38 failed: ' in done[0][1]
        assert [said(out) for _, out, _ in done[1:]] == [[]] * (count - 1)
        assert all('step/s' not in err for _, _, err in done[1:])  # no progress bar
        assert 'step/s' in done[0][2]
        (row,) = table(root)
        lines[name] = row
        measured = processes.finish(
            processes.start(row['workdir'], count, '--metric=knn,k=1', **EVALUATE, **of)
        )
        assert [code for code, _, _ in measured] == [0] * count, measured
        assert [said(out) for _, out, _ in measured[1:]] == [[]] * (count - 1)
        heading, *rows = said(measured[0][1])
        assert heading == 'knn,k=1 of the factor of config.evaluation:'
        numbers[name] = dict(line.split() for line in rows)
    assert_close(lines['group'], lines['alone'])
    # A finished point is read, not run again: its seconds are the same.
    again = processes.finish(processes.start(tmp_path / 'group', 2, *SHORT, *ONE_POINT, **SWEEP))
    assert [code for code, _, _ in again] == [0, 0], again
    assert table(tmp_path / 'group') == [lines['group']]
    assert 'test_accuracy' in numbers['group']
    assert_close(numbers['group'], numbers['alone'])


@pytest.mark.slow
def test_sigterm_to_one_process_of_a_sweep_ends_both_with_42(tmp_path):
    flags = ('--config.num_steps=20000', '--axis', 'data.num_bits=2', '--seeds=0,1')
    group = processes.start(tmp_path, 2, *flags, **SWEEP)
    processes.wait_for_rows(tmp_path / 'data.num_bits=2,seed=0', 20, group)
    processes.assert_preempted(processes.end_by_sigterm(group, [1]))
