"""The page's table of the notebook's numbers is that of the published rows; orders agree."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from configs.chen2021.randbit_notebook import BITS, REFERENCE
from experiments import published
from experiments.reproduction import ROOT

PRINTED = {
    (temperature, bits): accuracy
    for temperature, accuracies in REFERENCE.items()
    for bits, accuracy in zip(BITS[:3], accuracies[:3], strict=True)
}


@pytest.fixture(scope='module')
def read():
    """(name of a reading) -> {(temperature, bits): the accuracies of the seeds}."""
    rows = published.read_rows(Path(ROOT, 'results', 'chen2021', 'randbit_notebook'))

    def of(metric):
        return {
            cell: [
                row[metric] for row in rows
                if (row['loss.temperature'], row['data.num_bits']) == cell
            ]
            for cell in PRINTED
        }  # fmt: skip

    return of


def test_the_page_has_the_published_numbers(read):
    page = Path(ROOT, 'experiments', 'chen2021', 'README.md').read_text()
    for cell, printed in PRINTED.items():
        shown = [
            f'{np.mean(found):.3f} ({min(found):.3f} to {max(found):.3f})'
            for found in (read(metric)[cell] for metric in ('online_accuracy', 'test_accuracy'))
        ]
        assert f'| {cell[0]:g} | {cell[1]} | {printed} | {" | ".join(shown)} |' in page


def test_cells_that_the_notebook_tells_apart_stand_in_its_order(read):
    """Where two printed values differ by more than 0.05."""
    means = {cell: np.mean(found) for cell, found in read('online_accuracy').items()}
    pairs = [
        (a, b) for a, b in itertools.permutations(PRINTED, 2) if PRINTED[a] - PRINTED[b] > 0.05
    ]
    assert len(pairs) > 20
    assert all(means[a] > means[b] for a, b in pairs)


def test_all_but_two_of_the_cells_above_chance_are_within_three_points(read):
    """Those two are named on the page, with what was tried."""
    off = {
        cell: np.mean(found) - PRINTED[cell]
        for cell, found in read('online_accuracy').items()
        if PRINTED[cell] > 0.15
    }
    assert len(off) == 8
    outside = {cell: abs(by) for cell, by in off.items() if abs(by) > 0.03}
    assert set(outside) == {(0.05, 5), (0.1, 5)}
    assert max(outside.values()) < 0.05
