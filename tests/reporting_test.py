"""Reporting: averages over seeds, and a figure for whatever was swept."""

import pytest

from contrastive_jax import reporting

ROWS = [
    {'data.num_bits': bits, 'seed': seed, 'test_accuracy': 0.9 - bits / 10 + seed / 100}
    for seed in (0, 1, 2)
    for bits in (0, 4, 8)
]


def test_averages_are_over_seeds_alone():
    points = reporting.average_over_seeds(ROWS, ['data.num_bits'], 'test_accuracy')
    assert [point['data.num_bits'] for point in points] == [0, 4, 8]
    for point in points:
        middle = 0.9 - point['data.num_bits'] / 10 + 0.01
        assert point['mean'] == pytest.approx(middle)
        assert point['least'] == pytest.approx(middle - 0.01)
        assert point['greatest'] == pytest.approx(middle + 0.01)
        assert point['seeds'] == 3


@pytest.mark.parametrize('values', [(0, 4, 8), ('cosine', 'linear', 'constant'), (True, False, 1)])
def test_any_axis_is_drawn(tmp_path, values):
    rows = [
        {'x': value, 'other': other, 'seed': 0, 'test_accuracy': 0.5}
        for value in values
        for other in (1, 2)
    ]
    reporting.draw_sweep(
        tmp_path / 'figure.png', rows, ['x', 'other'], {'x': 'x', 'y': 'test_accuracy'}
    )
    assert (tmp_path / 'figure.png').stat().st_size > 5000
    assert [path.name for path in tmp_path.iterdir()] == ['figure.png']


def test_the_seed_may_be_the_axis(tmp_path):
    rows = [{'seed': seed, 'test_accuracy': 0.5} for seed in (0, 1)]
    reporting.draw_sweep(tmp_path / 'f.png', rows, ['seed'], {'x': 'seed', 'y': 'test_accuracy'})
    assert (tmp_path / 'f.png').exists()


def test_lines_are_named_by_their_values_or_as_the_figure_says(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(reporting, '_draw_line', lambda *given: drawn.append(given[3]))
    rows = [{'x': 1, 'loss': loss, 'memory': '', 'seed': 0, 'accuracy': 0.5} for loss in ('a', 'b')]
    figure = {'x': 'x', 'y': 'accuracy'}
    for label in ({}, {'label': lambda point: point['loss'].upper() + point['memory']}):
        reporting.draw_sweep(tmp_path / 'f.png', rows, ['x', 'loss', 'memory'], figure | label)
    assert drawn == ['loss a, memory ', 'loss b, memory ', 'A', 'B']
