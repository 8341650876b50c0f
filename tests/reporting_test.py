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


@pytest.mark.parametrize('count', [3, 40])
def test_a_few_whole_numbers_are_named_one_by_one_with_those_of_references(
    tmp_path, monkeypatch, count
):
    ticks = []
    monkeypatch.setattr('matplotlib.axes.Axes.set_xticks', lambda axes, at: ticks.extend(at))
    rows = [{'x': 4 * place, 'seed': 0, 'test_accuracy': 0.5} for place in range(count)]
    reference = dict(label='theirs', x=(0, 5), y=(0.1, 0.2))
    figure = {'x': 'x', 'y': 'test_accuracy', 'references': [reference]}
    reporting.draw_sweep(tmp_path / 'figure.png', rows, ['x'], figure)
    assert ticks == ([0, 4, 5, 8] if count == 3 else [])


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


def lines_of(monkeypatch, tmp_path, rows, axes, figure):
    """The lines that are drawn by label, as (x values, colour)."""
    kept = []
    monkeypatch.setattr(reporting, 'save_figure', lambda drawing, path: kept.append(drawing))
    reporting.draw_sweep(tmp_path / 'f.png', rows, axes, figure)
    plot = kept[0].axes[0]
    handles, labels = plot.get_legend_handles_labels()
    lines = [handle[0] if isinstance(handle, tuple) else handle for handle in handles]
    return {
        label: (list(line.get_xdata()), line.get_color())
        for label, line in zip(labels, lines, strict=True)
    }


def test_a_line_that_lacks_a_value_of_a_text_axis_stands_where_the_others_do(tmp_path, monkeypatch):
    rows = [
        {'x': x, 'line': line, 'seed': 0, 'accuracy': 0.5}
        for x, line in (('a', 1), ('b', 1), ('c', 1), ('c', 2))
    ]
    found = lines_of(monkeypatch, tmp_path, rows, ['x', 'line'], {'x': 'x', 'y': 'accuracy'})
    assert found['line 1'][0] == [0, 1, 2]
    assert found['line 2'][0] == [2]


def test_a_reference_has_the_colour_of_the_line_that_it_stands_beside(tmp_path, monkeypatch):
    rows = [{'x': 1, 'tau': tau, 'seed': 0, 'accuracy': 0.5} for tau in (0.1, 0.2)]
    references = [
        {'label': 'theirs', 'x': [1], 'y': [0.4], 'beside': {'tau': 0.2}},
        {'label': 'other', 'x': [1], 'y': [0.4], 'beside': {'tau': 0.3}},
        {'label': 'plain', 'x': [1], 'y': [0.4]},
    ]
    figure = {'x': 'x', 'y': 'accuracy', 'references': references}
    found = lines_of(monkeypatch, tmp_path, rows, ['x', 'tau'], figure)
    assert found['theirs'][1] == found['tau 0.2'][1] != found['tau 0.1'][1]
    assert found['other'][1] == found['plain'][1] == '0.5'


def test_the_bars_of_points_reach_from_the_least_to_the_greatest():
    from matplotlib.figure import Figure

    plot = Figure().subplots()
    points = reporting.average_over_seeds(ROWS, ['data.num_bits'], 'test_accuracy')
    reporting.draw_points(plot, [1, 2, 3], points)
    (bars,) = plot.containers
    heights = [segment[:, 1] for segment in bars.lines[2][0].get_segments()]
    for point, ends in zip(points, heights, strict=True):
        assert list(ends) == pytest.approx([point['least'], point['greatest']])


@pytest.mark.parametrize('count', [3, 40])
def test_a_legend_of_many_lines_stands_beside_the_plot(tmp_path, monkeypatch, count, recwarn):
    kept, save = [], reporting.save_figure
    monkeypatch.setattr(
        reporting, 'save_figure', lambda *given: (kept.append(given[0]), save(*given))
    )
    rows = [{'x': 1, 'line': line, 'seed': 0, 'accuracy': 0.5} for line in range(count)]
    figure = {'x': 'x', 'y': 'accuracy'}
    reporting.draw_sweep(tmp_path / 'f.png', rows, ['x', 'line'], figure)
    plot = kept[0].axes[0]
    inside = plot.get_legend().get_window_extent().x0 < plot.get_window_extent().x1
    assert inside == (count == 3)
    assert not recwarn.list  # such as a layout that has no room
