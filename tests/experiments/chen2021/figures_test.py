"""The figures of chen2021 that are drawn from rows and arrays: what each shows."""

import matplotlib.image
import numpy as np
import pytest

from configs.chen2021 import (
    colour_laptop,
    digit_on_image_ablation_laptop,
    digit_on_image_laptop,
    local_features_laptop,
    multidigits_number_laptop,
    multidigits_size_laptop,
    randbit_losses_laptop,
    randbit_temperatures_laptop,
)
from contrastive_jax import reporting
from experiments.chen2021.figures import (
    colour,
    datasets,
    digit_on_image,
    local_features,
    multidigits,
    names,
    randbit,
)


@pytest.fixture
def drawn(monkeypatch):
    """The lines that are drawn, as they come: (label, places, means)."""
    lines = []
    monkeypatch.setattr(
        reporting,
        'draw_points',
        lambda plot, places, points, label, **style: lines.append(
            (label, list(places), [point['mean'] for point in points])
        ),
    )
    return lines


def test_strengths_are_named_by_their_views():
    names = [colour.strength_of(views) for views in colour_laptop.VIEWS]
    assert names == ['none', '0.25', '0.5', '1.0']


def test_both_probes_are_drawn_against_the_jitter(tmp_path):
    rows = [
        {'views': views, 'seed': seed, 'colour_r2': 0.1 * seed, 'test_accuracy': 0.9}
        for views in colour_laptop.VIEWS
        for seed in range(3)
    ]
    colour.draw(rows, tmp_path / 'figure.png')
    assert matplotlib.image.imread(tmp_path / 'figure.png').std() > 0


@pytest.mark.filterwarnings('ignore:No artists with labels')
@pytest.mark.parametrize('shown', [('SimCLR', 'supervised', 'before training'), ('supervised',)])
def test_agreement_is_drawn_by_layer(tmp_path, drawn, shown):
    levels = {'pixels': 0.1, 'block_group_1': 0.2, 'block_group_2': 0.3}
    order = list(local_features.SHOWN)
    rows = [
        point
        | {
            f'agreement_{k}_{layer}': level + place + k + point['seed']
            for layer, level in levels.items()
            for k in (4, 8)
        }
        for point in local_features_laptop.sweep()
        for place, (name, values) in enumerate(local_features.SHOWN.items())
        if name in shown and values.items() <= point.items()
    ]
    assert len(rows) == 3 * len(shown)
    local_features.draw_agreement(rows, tmp_path / 'figure.png')
    assert (tmp_path / 'figure.png').stat().st_size > 0
    assert [label for label, *_ in drawn] == 2 * [f'{name} (mean of 3 seeds)' for name in shown]
    # The mean over seeds adds 1.
    expected = [
        [k + order.index(name) + 1 + level for level in levels.values()]
        for k in (4, 8)
        for name in shown
    ]
    np.testing.assert_allclose([means for *_, means in drawn], expected)


@pytest.mark.filterwarnings('ignore:No artists with labels')
def test_bits_are_drawn_by_temperature_and_by_weight(tmp_path, drawn):
    losses = {point['loss'] for point in randbit_temperatures_laptop.sweep()}
    level = {loss: place / 10 for place, loss in enumerate(sorted(losses))}
    rows = [
        {**point, 'test_accuracy': level[point['loss']] - point['data.num_bits'] / 100}
        for point in reversed(randbit_temperatures_laptop.sweep())
    ]
    randbit.draw_temperatures(rows, tmp_path / 'figure.png')
    assert (tmp_path / 'figure.png').stat().st_size > 0
    lines = [
        *randbit_temperatures_laptop.BY_TEMPERATURE.items(),
        *randbit_temperatures_laptop.BY_WEIGHT.items(),
    ]
    assert {loss for _, loss in lines} == losses
    for (value, loss), (label, places, means) in zip(lines, drawn, strict=True):
        assert float(label) == value
        assert places == list(randbit_temperatures_laptop.BITS)
        np.testing.assert_allclose(means, level[loss] - np.asarray(places) / 100, atol=1e-12)


def test_losses_have_the_names_that_readers_know():
    texts = (
        'nt_xent,temperature=0.2',
        'cross_entropy,factor=digit',
        'multi_label',
        'byol_regression',
    )
    assert [names.loss_name(text) for text in texts] == [
        'SimCLR, temperature 0.2', 'supervised', 'supervised', 'byol_regression'
    ]  # fmt: skip


@pytest.mark.parametrize(
    ('draw', 'config', 'lines'),
    [
        (
            digit_on_image.draw,
            digit_on_image_laptop,
            ['SimCLR, temperature 0.05', 'SimCLR, temperature 0.2', 'supervised'],
        ),
        (
            digit_on_image.draw_ablation,
            digit_on_image_ablation_laptop,
            [
                f'head of {layers} layers, batch of {batch}'
                for layers in (2, 3)
                for batch in digit_on_image_ablation_laptop.BATCHES
            ],
        ),
    ],
)
@pytest.mark.filterwarnings('ignore:No artists with labels')
def test_digit_and_object_are_drawn_by_the_number_of_digits(tmp_path, drawn, draw, config, lines):
    offsets = {metric: place / 10 for place, metric in enumerate(digit_on_image.PANELS)}
    rows = [
        point | {m: offset + point['data.num_unique'] / 1e5 for m, offset in offsets.items()}
        for point in reversed(config.sweep())
    ]
    draw(rows, tmp_path / 'figure.png')
    assert (tmp_path / 'figure.png').stat().st_size > 0
    assert sorted(label for label, *_ in drawn) == sorted(3 * lines)
    for place, (_, numbers, means) in enumerate(drawn):
        assert numbers == list(config.NUMBERS)
        offset = list(offsets.values())[place // len(lines)]
        np.testing.assert_allclose(means, offset + np.asarray(numbers) / 1e5)


def test_each_digit_is_drawn_against_the_ratio_of_sizes(tmp_path, drawn):
    rows = [
        {**point, 'steps': point['num_steps'], 'test_accuracy': 0.5}
        | {f'test_accuracy_size_{size}': size / 100 for size in (27, 36)}
        for point in multidigits_size_laptop.sweep()
    ]
    multidigits.draw_sizes(rows, tmp_path / 'figure.png')
    assert (tmp_path / 'figure.png').stat().st_size > 0
    lines = {(label, tuple(places)): means for label, places, means in drawn[len(drawn) // 2 :]}
    ratios = (1.0, 2.25, 3.0)
    # The second digit: as large as the first it is the first, where temperature 0.05 has no run.
    assert lines.pop(('SimCLR, temperature 0.05', ratios[1:])) == pytest.approx([0.27, 0.36])
    assert set(lines) == {
        (name, ratios) for name in ('SimCLR, temperature 0.2', 'supervised', 'untrained')
    }
    for means in lines.values():
        assert means == pytest.approx([0.5, 0.27, 0.36])
    for _, places, means in drawn[: len(drawn) // 2]:  # the small digit
        assert means == pytest.approx([0.5] * len(places))


def test_numbers_of_digits_are_drawn_by_placement(tmp_path, drawn):
    levels = {'random': 0.3, 'grid': 0.6}
    rows = [
        {**point, 'steps': point['num_steps']}
        | {'test_accuracy': levels[point['data.placement']] + point['data.num_digits'] / 100}
        for point in multidigits_number_laptop.sweep()
    ]
    multidigits.draw_numbers(rows, tmp_path / 'figure.png')
    assert (tmp_path / 'figure.png').stat().st_size > 0
    assert [label for label, *_ in drawn] == 2 * ['random', 'grid']
    for label, numbers, means in drawn:
        assert means == pytest.approx([levels[label] + number / 100 for number in numbers])


def test_every_method_has_its_dots_without_bits_and_with_them(tmp_path, monkeypatch):
    plotted = []
    monkeypatch.setattr(
        matplotlib.axes.Axes, 'plot', lambda axes, x, y, *style, **more: plotted.append((x, y))
    )
    monkeypatch.setattr(matplotlib.axes.Axes, 'legend', lambda *of, **style: None)
    methods = list(randbit_losses_laptop.METHODS)
    rows = [
        {**point, 'test_accuracy': place / 100}
        for place, point in enumerate(randbit_losses_laptop.sweep())
    ]
    randbit.draw_methods(rows, tmp_path / 'figure.png')
    label = randbit.label_of(randbit_losses_laptop.METHODS)
    for bits, (accuracies, places) in zip((0, 15), plotted, strict=True):
        own = [row for row in rows if row['data.num_bits'] == bits]
        assert accuracies == [row['test_accuracy'] for row in own]
        assert [methods[round(place)] for place in places] == [label(row) for row in own]


def test_each_number_of_clusters_has_so_many_colours(tmp_path):
    ids = np.arange(16).reshape(1, 4, 4)
    features = {'distinct': np.eye(16)[ids]}
    path = tmp_path / 'figure.png'
    local_features.draw(path, np.zeros((1, 8, 8, 3)), features, (2, 16), patch=8)
    picture = (matplotlib.image.imread(path)[..., :3] * 255).astype(int)
    colours, counts = np.unique(picture.reshape(-1, 3), axis=0, return_counts=True)
    # 16 distinct features in 16 clusters, each a cell of its own colour; white, black, text apart.
    assert np.sum(counts > 500) >= 16


@pytest.mark.slow
def test_digits_overlap_where_they_stand_anywhere_and_not_in_a_grid(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(
        matplotlib.axes.Axes, 'imshow', lambda axes, image, **style: shown.append(image)
    )
    datasets.draw_multidigits(tmp_path / 'figure.png')
    lit = np.reshape([(image > 0).sum() for image in shown], (2, -1))
    assert (np.diff(lit) > 0).all()
    # The grid's digits keep all their pixels, of which one digit has about 150.
    assert 100 * 16 < lit[1, -1] < 200 * 16
    assert lit[1, -1] > lit[0, -1]


@pytest.mark.slow
def test_the_three_data_sets_are_drawn(tmp_path):
    datasets.draw(tmp_path / 'figure.png', hosts='noise:40,size=16,channels=3')
    assert matplotlib.image.imread(tmp_path / 'figure.png').std() > 0
