"""Statistics of the losses on rows whose answer is known, and the paper's own numbers."""

import itertools

import numpy as np
import pytest

from configs.chen2021 import (
    cifar10_losses,
    five_losses,
    imagenet_losses,
    losses_laptop,
    temperature_weight_laptop,
)
from experiments.chen2021.claims import losses
from experiments.chen2021.rows import images_of, layers_of

CLAIMS = {claim.id: claim for claim in losses.CLAIMS}


def rows_of_sweep(accuracy):
    """The rows of seed 0 of the config's sweep, with accuracy(name, layers, batch, steps)."""
    rows = [dict(point) for point in losses_laptop.sweep() if point['seed'] == 0]
    for row in rows:
        layers = len(row['model.head_widths'])
        row['test_accuracy'] = accuracy(
            losses.name_of(row), layers, row['batch_size'], row['num_steps']
        )
    return rows


def test_every_loss_has_its_name():
    for name, loss in five_losses(dimensions=64).items():
        assert losses.name_of({f'loss.{field}': loss[field] for field in loss}) == name


def test_ranges_are_of_their_layers_lengths_and_batches():
    number = {name: i for i, name in enumerate(five_losses(64))}  # nt_xent is 0

    def accuracy(name, layers, batch, steps):
        if batch != losses_laptop.BATCH:
            return 0.5 + 0.01 * layers * np.log2(batch / losses_laptop.BATCH)
        short = steps == losses_laptop.SHORT
        return 0.5 + (0.05 if short else {2: 0.02, 3: 0.01}[layers]) * number[name]

    rows = rows_of_sweep(accuracy)
    ranges = losses.ranges_over_losses(rows)
    # 40 and 150 steps of batch 128.
    assert ranges == pytest.approx(
        {(2, 128, 5120): 0.2, (2, 128, 19200): 0.08, (3, 128, 19200): 0.04}
    )
    assert CLAIMS['1a'].of_seed(rows) == pytest.approx(0.04)
    assert CLAIMS['1b'].of_seed(rows) == pytest.approx(0.12)
    # Batches of a quarter to twice the usual one: three doublings.
    assert CLAIMS['2a'].of_seed(rows) == pytest.approx(0.06)
    assert CLAIMS['2b'].of_seed(rows) == pytest.approx(-0.03)


def test_missing_runs_are_named():
    rows = rows_of_sweep(lambda *setting: 0.5)
    with pytest.raises(
        ValueError,
        match='at 2 head layers, batch 128 and 19,200 images the rows have decoupled_nt_xent, '
        'swd_hypercube, swd_hypersphere, swd_normal, not the five losses',
    ):
        CLAIMS['1a'].of_seed(rows[1:])
    shallow = [row for row in rows if layers_of(row) == 2]
    with pytest.raises(ValueError, match='no batch size and length .* heads of both 2 and 3'):
        CLAIMS['1a'].of_seed(shallow)
    long = [row for row in rows if row['num_steps'] == losses_laptop.STEPS]
    with pytest.raises(ValueError, match='at 2 head layers and batch 128 there is one length'):
        CLAIMS['1b'].of_seed(long)
    one = [row for row in rows if row['batch_size'] == losses_laptop.BATCH]
    with pytest.raises(ValueError, match='NT-Xent has one batch size alone'):
        CLAIMS['2a'].of_seed(one)


def test_slopes_and_the_ridge_of_a_plane():
    grid = itertools.product(
        temperature_weight_laptop.TEMPERATURES, temperature_weight_laptop.WEIGHTS
    )
    rows = [
        {
            'loss.temperature': tau,
            'loss.weight': weight,
            'z_uniformity': -2 - 0.5 * np.log(weight) + 0.25 * np.log(tau),
            'test_accuracy': 1 - abs(np.log(weight / tau)),
        }
        for tau, weight in grid
    ]
    assert losses.spread_slopes(rows) == pytest.approx((-0.5, 0.25))
    assert CLAIMS['3a'].of_seed(rows) == pytest.approx(-0.5)
    assert CLAIMS['3b'].of_seed(rows) == pytest.approx(0.25)
    best = losses.best_weights(rows)
    assert best[0.05] == 0.05
    assert best[1.0] == 1.0
    assert losses.ridge_slope(rows) > 0


def test_the_papers_values_are_those_of_its_tables():
    assert CLAIMS['1a'].paper_value == pytest.approx(0.0138 - 0.0052, abs=1e-4)
    assert CLAIMS['1b'].paper_value == pytest.approx(0.021)
    assert CLAIMS['2a'].paper_value == pytest.approx(0.008)
    assert CLAIMS['2b'].paper_value == pytest.approx(0.0)
    assert losses.paper_range('table_2', 'batch', {'head_layers': 4}) == pytest.approx(0.00425)


def test_runs_of_as_many_epochs_saw_as_many_images():
    """Whatever the batch; the next length is twice as long."""
    for module in (cifar10_losses, imagenet_losses):
        found = {images_of(point) for point in module.sweep()}
        once = module.EXAMPLES * module.EPOCHS
        assert sorted(found) == pytest.approx([once, 2 * once, 4 * once, 8 * once], rel=5e-3)
