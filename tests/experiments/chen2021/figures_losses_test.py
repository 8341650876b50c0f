"""Figures of the losses are drawn from rows of their sweeps, and not where the runs are gone."""

import numpy as np
import pytest

from configs.chen2021 import (
    losses_laptop,
    projections_laptop,
    saturation_laptop,
    temperature_weight_laptop,
)
from experiments.chen2021.figures import losses, projections, saturation, temperature_weight


def rows_of(config, **metrics):
    """Every point of the sweep with numbers that differ; None is '' as in a CSV file."""
    random = np.random.default_rng(0)
    return [
        {name: '' if value is None else value for name, value in point.items()}
        | {name: value + 0.01 * random.random() for name, value in metrics.items()}
        for point in config.sweep()
    ]


def is_picture(path):
    return path.read_bytes()[:4] == b'\x89PNG' and path.stat().st_size > 10_000


def test_sweeps_are_drawn(tmp_path):
    drawn = {
        losses.draw_laptop: rows_of(losses_laptop, test_accuracy=0.9),
        saturation.draw: rows_of(saturation_laptop, train_loss=1.0),
        temperature_weight.draw: rows_of(
            temperature_weight_laptop, test_accuracy=0.9, z_uniformity=-2.0
        ),
    }
    for number, (draw, rows) in enumerate(drawn.items()):
        draw(rows, tmp_path / f'{number}.png')
        assert is_picture(tmp_path / f'{number}.png')


def test_the_floor_of_the_sliced_distance_is_that_of_the_fact_sheet():
    """Of matched distributions on the sphere, at 256 rows of 64 dimensions: 3.3e-4."""
    assert saturation.sliced_floor(256) == pytest.approx(3.3e-4, rel=0.05)


@pytest.mark.slow
def test_panels_of_projections_are_drawn(tmp_path):
    z = np.random.default_rng(0).normal(size=(200, 8))
    projections.draw_panels({'wide': z, 'narrow': z + 2}, tmp_path / 'panels.png')
    assert is_picture(tmp_path / 'panels.png')


def test_projections_are_not_drawn_where_the_runs_are_gone(tmp_path, capsys):
    rows = rows_of(projections_laptop)
    rows = [{**row, 'workdir': str(tmp_path / 'gone')} for row in rows]
    projections.draw(rows, tmp_path / 'not.png')
    assert not (tmp_path / 'not.png').exists()
    assert 'are gone' in capsys.readouterr().out
