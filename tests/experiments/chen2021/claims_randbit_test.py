"""The statistics of the claims on random bits, on rows made up so that the answer is known."""

import csv
import importlib
from pathlib import Path

import pytest

from configs.chen2021 import (
    randbit_cifar10,
    randbit_losses_laptop,
    randbit_temperatures_laptop,
    randbit_vae_laptop,
)
from contrastive_jax.evaluation.claims import judge
from experiments import published
from experiments.chen2021.claims import randbit

CLAIMS = {claim.id: claim for claim in randbit.CLAIMS}


def rows_of(of_point, *axes):
    """One row a point: of_point gives the accuracy."""
    return [
        {
            **dict(zip(axes, point, strict=True)),
            'test_accuracy': accuracy,
            'online_accuracy': accuracy,
        }
        for point, accuracy in of_point.items()
    ]


def test_accuracy_that_falls_with_bits_has_correlation_minus_one_in_any_order():
    rows = rows_of({(4,): 0.5, (0,): 0.9, (8,): 0.1, (2,): 0.8}, 'data.num_bits')
    assert CLAIMS['4a'].of_seed(rows) == pytest.approx(-1)
    assert CLAIMS['4a'].of_seed(rows_of({(0,): 0.1, (8,): 0.9}, 'data.num_bits')) > 0


def test_the_best_method_counts_at_the_most_bits_alone():
    a, b = (randbit_losses_laptop.METHODS[name]['loss'] for name in ('byol', 'swd_normal'))
    accuracies = {(a, 0): 0.9, (b, 0): 0.95, (a, 15): 0.11, (b, 15): 0.32}
    found = CLAIMS['4b'].of_seed(rows_of(accuracies, 'loss', 'data.num_bits'))
    assert found == pytest.approx(0.22)
    with pytest.raises(ValueError, match='a method reads 0.300 without bits, below 0.5'):
        CLAIMS['4b'].of_seed(rows_of({**accuracies, (b, 0): 0.3}, 'loss', 'data.num_bits'))


def test_the_best_method_is_not_another_temperature_or_weight_which_are_claim_5():
    rows = [{**point, 'test_accuracy': 0.9} for point in randbit_cifar10.sweep()]
    rows = [row for row in rows if row['seed'] == 0]
    others = [
        method['loss']
        for name, method in randbit_cifar10.METHODS.items()
        if ', temperature' in name or ', weight' in name
    ]
    assert len(others) == 7
    for row in rows:
        if row['loss'] in others:  # some learn nothing without bits, some stay with 15
            row['test_accuracy'] = 0.2 if row['data.num_bits'] == 0 else 0.8
        elif row['data.num_bits'] == 15:
            row['test_accuracy'] = 0.13 if row['memory'] else 0.11
    assert CLAIMS['4b'].of_seed(rows) == pytest.approx(0.03)


def test_temperatures_are_compared_at_the_number_of_bits_that_the_claim_names():
    accuracies = {(0.05, 0): 0.8, (0.2, 0): 0.9, (0.05, 5): 0.7, (0.2, 5): 0.3}
    rows = rows_of(accuracies, 'loss.temperature', 'data.num_bits')
    rows = [{**row, 'online_accuracy': 0.0} for row in rows]  # the probe counts
    assert CLAIMS['5a'].of_seed(rows) == pytest.approx(0.4)
    as_text = {(f'nt_xent,temperature={tau}', bits): at for (tau, bits), at in accuracies.items()}
    rows = rows_of(as_text, 'loss', 'data.num_bits')
    assert CLAIMS['5b'].of_seed(rows) == pytest.approx(-0.1)
    assert CLAIMS['5d'].of_seed(rows) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ('module', 'bits', 'name'),
    [
        (randbit_temperatures_laptop, 6, '5c'),
        (randbit_cifar10, 5, '5d'),
        (randbit_cifar10, 0, '5b'),
    ],
)
def test_temperatures_are_compared_among_all_losses_and_batch_sizes(module, bits, name):
    rows = [
        {**point, 'test_accuracy': place / 1000}
        for place, point in enumerate(module.sweep())
        if point['seed'] == 0
    ]
    small, large = (
        next(
            row['test_accuracy']
            for row in rows
            if (row['loss'], row['data.num_bits']) == (f'nt_xent,temperature={tau}', bits)
            and row.get('batch_size', 128) == 128  # what all but NT-Xent at 0.2 have alone
        )
        for tau in (0.05, 0.2)
    )
    assert small != large
    assert CLAIMS[name].of_seed(rows) == pytest.approx(small - large)


@pytest.mark.parametrize(('generative', 'sign'), [(0.7, 1), (0.85, -1)])
def test_the_autoencoder_may_lose_a_quarter_of_what_contrast_loses(tmp_path, generative, sign):
    accuracies = {
        'NT-Xent': (0.9, 0.1),
        'variational autoencoder': (0.95, generative),
        'autoencoder before training': (0.8, 0.65),
    }
    rows = [
        {**method, 'data.num_bits': bits, 'test_accuracy': accuracy}
        for name, method in randbit_vae_laptop.METHODS.items()
        for bits, accuracy in zip((0, 10), accuracies[name], strict=True)
    ]
    with (tmp_path / published.ROWS).open('w', newline='') as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    rows = published.read_rows(tmp_path)
    found = CLAIMS['6a'].of_seed(rows)
    assert found == pytest.approx(0.95 - generative - 0.2)
    assert found * sign > 0
    assert CLAIMS['6b'].of_seed(rows) == pytest.approx(0.95 - generative - 0.15)


def test_what_the_notebook_prints_passes_and_another_number_does_not():
    accuracies = {
        (temperature, bits): accuracy
        for temperature, row in randbit.REFERENCE.items()
        for bits, accuracy in zip(randbit.BITS, row, strict=True)
    }
    noise = {0: 0.001, 1: -0.001, 2: 0.002}

    def verdicts(moved):
        rows = [
            {**row, 'seed': seed, 'online_accuracy': row['online_accuracy'] + error + moved}
            for seed, error in noise.items()
            for row in rows_of(accuracies, 'loss.temperature', 'data.num_bits')
        ]
        printed = [claim for claim in randbit.CLAIMS if claim.source == 'RandBit notebook']
        return [judge(claim, rows)['verdict'] for claim in printed]

    assert verdicts(0) == ['holds'] * 8
    assert verdicts(0.05) == ['does_not_hold'] * 8


def test_each_claim_reads_axes_that_its_sweep_has_with_three_seeds():
    read = {'4a': ['data.num_bits'], '4b': ['data.num_bits'], '5c': ['loss', 'data.num_bits']}
    read |= dict.fromkeys(('5b', '5d', '6a', '6b'), ['loss', 'data.num_bits'])
    for claim in randbit.CLAIMS:
        module = importlib.import_module('.'.join(Path(claim.config).with_suffix('').parts))
        points = module.sweep()
        assert len({point['seed'] for point in points}) == 3
        axes = read.get(claim.id, ['loss.temperature', 'data.num_bits'])
        assert all(axis in points[0] for axis in axes)
    assert max(point['data.num_bits'] for point in randbit_losses_laptop.sweep()) == 15
