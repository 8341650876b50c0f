"""The figures of chen2021 that are drawn from rows and arrays: what each shows."""

import matplotlib.image
import numpy as np
import pytest

from configs.chen2021 import colour_laptop, local_features_laptop, randbit_temperatures_laptop
from contrastive_jax import reporting
from experiments.chen2021.figures import colour, datasets, local_features, randbit


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
@pytest.mark.parametrize('names', [('SimCLR', 'supervised', 'before training'), ('supervised',)])
def test_agreement_is_drawn_by_layer(tmp_path, drawn, names):
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
        if name in names and values.items() <= point.items()
    ]
    assert len(rows) == 3 * len(names)
    local_features.draw_agreement(rows, tmp_path / 'figure.png')
    assert (tmp_path / 'figure.png').stat().st_size > 0
    assert [label for label, *_ in drawn] == 2 * [f'{name} (mean of 3 seeds)' for name in names]
    # The mean over seeds adds 1.
    expected = [
        [k + order.index(name) + 1 + level for level in levels.values()]
        for k in (4, 8)
        for name in names
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
    # The grid's digits keep all their pixels: 16 are about 16 times one, and more than anywhere.
    assert lit[1, -1] > lit[0, -1]


@pytest.mark.slow
def test_the_three_data_sets_are_drawn(tmp_path):
    datasets.draw(tmp_path / 'figure.png', hosts='noise:40,size=16,channels=3')
    assert matplotlib.image.imread(tmp_path / 'figure.png').std() > 0
