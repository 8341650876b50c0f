"""Claims are judged from full-scale sweeps too: of the paper's tables they give its statistics."""

import functools
import importlib
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest

from configs.chen2021 import (
    cifar10_losses,
    colour,
    digit_on_image,
    digit_on_image_ablation,
    imagenet_losses,
    multidigits_number,
    multidigits_size,
    saturation,
)
from contrastive_jax import reporting
from contrastive_jax.evaluation.claims import judge
from experiments import published, reproduction
from experiments.chen2021.claims import CLAIMS
from experiments.chen2021.claims.losses import name_of
from experiments.chen2021.claims.saturation import sliced_slope
from experiments.chen2021.figures import DRAWINGS
from experiments.chen2021.paper_tables import table
from experiments.chen2021.rows import layers_of

OF = {claim.id: claim for claim in CLAIMS}
FULL = [claim for claim in CLAIMS if claim.full_config]


def rows_of(module, **metrics):
    """Every point of a sweep as a row of results.csv reads, with made-up numbers."""
    random = np.random.default_rng(0)
    rows = [
        {**point, 'steps': point.get('num_steps', 1)}
        | {name: value + 0.01 * random.random() for name, value in metrics.items()}
        for point in module.sweep()
    ]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, published.ROWS)
        reporting.write_csv(path, rows, list(rows[0]), 'test_accuracy')
        return published.read_rows(path.parent)


def module_of(path):
    return importlib.import_module('.'.join(Path(path).with_suffix('').parts))


METRICS = dict.fromkeys(
    ('test_accuracy', 'test_accuracy_object', 'test_accuracy_all_digits', 'colour_r2', 'train_loss',
     'z_uniformity'), 0.9,
)  # fmt: skip


@pytest.mark.parametrize('claim', FULL, ids=lambda claim: claim.id)
def test_every_claim_with_a_full_config_is_judged_from_its_sweep(claim):
    found = judge(claim, rows_of(module_of(claim.full_config), **METRICS))
    assert found['seeds'] == [0, 1, 2]
    assert np.isfinite([found['low'], found['estimate'], found['high']]).all()


@pytest.mark.parametrize('name', sorted({Path(claim.full_config).stem for claim in FULL}))
def test_every_full_sweep_is_drawn(tmp_path, name):
    module = importlib.import_module(f'configs.chen2021.{name}')
    rows = rows_of(module, **METRICS)
    for row in rows:  # the small digit's probe is test_accuracy, the second one's has its size
        if 'data.sizes' in row:
            sizes = multidigits_size.SECOND
            row |= {f'test_accuracy_size_{size}': row['test_accuracy'] for size in sizes}
    generic = functools.partial(
        reproduction.draw_sweep, module, module.get_config(), module.sweep()
    )
    DRAWINGS.get(name, generic)(rows, tmp_path / 'figure.png')
    assert (tmp_path / 'figure.png').stat().st_size > 10_000


def planted(module, tables, num_examples):
    """The rows of a sweep with the accuracies of the paper's tables, {head layers: table}."""
    rows = rows_of(module)
    for row in rows:
        epochs = round(row['num_steps'] * row['batch_size'] / num_examples)
        setting = name_of(row), row['batch_size'], layers_of(row)
        (own,) = [
            printed
            for printed in tables[layers_of(row)]
            if setting
            == (
                printed.get('loss', 'nt_xent'),
                printed['batch'],
                printed.get('head_layers', layers_of(row)),
            )
        ]
        row['test_accuracy'] = own[f'ep{epochs}'] / 100
    return rows


@pytest.mark.parametrize(
    ('module', 'tables', 'names'),
    [
        (cifar10_losses, {2: 'table_a1'}, ('1b', '2a')),
        (imagenet_losses, {2: 'table_a2', 3: 'table_a3', 4: 'table_2'}, ('1a', '2b')),
    ],
    ids=['cifar10', 'imagenet'],
)
def test_the_papers_tables_of_losses_give_the_papers_values(module, tables, names):
    tables = {layers: table(name) for layers, name in tables.items()}
    rows = planted(module, tables, module.EXAMPLES)
    for name in names:
        found = judge(OF[name], rows)
        assert found['estimate'] == pytest.approx(OF[name].paper_value, abs=2e-6), name


def test_the_papers_tables_of_multidigits_give_the_papers_values():
    rows = rows_of(multidigits_number)
    for row in rows:
        place = multidigits_number.NUMBERS.index(row['data.num_digits'])
        printed = multidigits_number.PAPER[row['loss'], row['data.placement']][place]
        row['test_accuracy'] = printed if row['steps'] else multidigits_number.UNTRAINED
    assert judge(OF['7a'], rows)['estimate'] == pytest.approx(OF['7a'].paper_value)
    assert judge(OF['7b'], rows)['estimate'] == pytest.approx(OF['7b'].paper_value, abs=1e-5)
    rows = rows_of(multidigits_size)
    for row in rows:
        place = multidigits_size.SECOND.index(row['data.sizes'][1])
        row['test_accuracy'] = multidigits_size.PAPER[row['loss']][0][place]
        if not row['steps']:
            row['test_accuracy'] = 0.0
    for name in ('7c', '7d', '7e'):
        assert judge(OF[name], rows)['estimate'] == pytest.approx(OF[name].paper_value), name


def test_the_trades_of_the_full_ablation_are_those_of_its_heads_and_batches():
    rows = rows_of(digit_on_image_ablation)
    for row in rows:
        most = row['data.num_unique'] == digit_on_image_ablation.NUMBERS[-1]
        trade = most * (0.1 + 0.2 * (row['batch_size'] == 2048) + 0.3 * (layers_of(row) == 3))
        row |= {'test_accuracy': 0.1 + trade / 2, 'test_accuracy_object': 0.9 - trade / 2}
    assert judge(OF['8e'], rows)['estimate'] == pytest.approx(0.5 - 0.35 / 4)


def test_saturation_of_the_full_sweep_is_of_one_temperature():
    rows = [row for row in rows_of(saturation) if row['seed'] == 0]
    for row in rows:  # saturates at 4 bits, at temperature 0.05 one bit later for each doubling
        later = np.log2(row['batch_size'] / 128) if row['loss.temperature'] == 0.05 else 0
        row['train_loss'] = -float(min(row['data.num_bits'], 4 + later))
    assert OF['9a'].of_seed(rows) == pytest.approx(1)
    assert OF['9b'].of_seed(rows) == pytest.approx(0)
    with pytest.raises(ValueError, match='has several rows of 1 bits'):
        sliced_slope(rows)  # of three priors
    normal = [row for row in rows if row['loss.prior'] == 'normal']
    assert sliced_slope(normal) == pytest.approx(0)


def test_orders_of_the_full_digits_on_images_are_of_every_temperature():
    rows = rows_of(digit_on_image)
    for row in rows:
        place = digit_on_image.NUMBERS.index(row['data.num_unique'])
        row |= {'test_accuracy': 0.1 + 0.1 * place, 'test_accuracy_object': 0.7 - 0.02 * place}
        row['test_accuracy_all_digits'] = 0.5 + 0.01 * place * (-1) ** ('0.05' in row['loss'])
    found = {name: judge(OF[name], rows)['estimate'] for name in ('8a', '8b', '8c', '8d')}
    # At one of the four temperatures the probe fitted to all digits falls.
    assert found == pytest.approx({'8a': 1, '8b': 0.5, '8c': -1, '8d': -0.1})


def test_colours_and_classes_of_the_full_sweep_are_with_jitter_minus_without():
    rows = rows_of(colour)
    for row in rows:
        jitter = row['views'] != 'crop_and_flip'
        row |= {'colour_r2': 0.3 if jitter else 0.8, 'test_accuracy': 0.87 if jitter else 0.6}
    assert judge(OF['11a'], rows)['estimate'] == pytest.approx(-0.5)
    assert judge(OF['11b'], rows)['estimate'] == pytest.approx(0.27)


def test_the_page_says_how_many_runs_the_largest_sweeps_have():
    page = (reproduction.ROOT / 'experiments/chen2021/README.md').read_text()
    said = re.findall(r'(\d+)(?: runs)?\sof\s`(\w+)`', page.partition('has three seeds')[2])
    assert len(said) == 5
    for number, name in said:
        module = importlib.import_module(f'configs.chen2021.{name}')
        assert len(module.sweep()) == int(number), name
