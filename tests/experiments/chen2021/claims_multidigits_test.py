"""The statistics of claim 7, on rows whose answers are known."""

import pytest

from configs.chen2021 import multidigits_number_laptop, multidigits_size_laptop
from experiments.chen2021.claims.multidigits import CLAIMS, grid_gain_slope

OF = {claim.id: claim.of_seed for claim in CLAIMS}


def rows_of(config, accuracy):
    """One seed of a sweep, with an accuracy that is a function of the point."""
    return [
        {**point, 'steps': point['num_steps'], 'test_accuracy': accuracy(point)}
        for point in config.sweep()
        if point['seed'] == 0
    ]


def test_the_slope_of_the_grid_and_the_step_to_eight_digits():
    def accuracy(point):
        if not point['num_steps']:
            return 0.2
        number, grid = point['data.num_digits'], point['data.placement'] == 'grid'
        return 0.9 - 0.01 * number + (0.002 * number - 0.005 if grid else 0)

    rows = rows_of(multidigits_number_laptop, accuracy)
    assert grid_gain_slope(rows) == pytest.approx(0.002)
    assert OF['7a'](rows) == pytest.approx(-0.07)
    assert OF['7b'](rows) == grid_gain_slope(rows)


def test_the_fall_of_the_small_digit_and_what_the_temperature_does():
    by_loss = {'nt_xent,temperature=0.2': 0.02, 'nt_xent,temperature=0.05': 0.01, 'multi_label': 0}

    def accuracy(point):
        first, second = point['data.sizes']
        return 0.9 - by_loss[point['loss']] * (second - first) if point['num_steps'] else 0.2

    rows = rows_of(multidigits_size_laptop, accuracy)
    assert OF['7c'](rows) == pytest.approx(-0.02 * 24)
    assert OF['7d'](rows) == pytest.approx(0)
    assert OF['7e'](rows) == pytest.approx(0.01 * 24)  # 36 pixels beside 12


def test_the_values_of_the_paper_are_those_of_its_tables():
    from configs.chen2021.multidigits_number import NUMBERS, PAPER
    from configs.chen2021.multidigits_size import PAPER as SIZES

    rows = [
        {'loss': loss, 'data.placement': placement, 'data.num_digits': number, 'steps': 1}
        | {'test_accuracy': PAPER[loss, placement][NUMBERS.index(number)]}
        for loss, placement in PAPER
        for number in (1, 8, 16)
    ]
    paper = {claim.id: claim.paper_value for claim in CLAIMS}
    assert OF['7a'](rows) == pytest.approx(paper['7a'])
    assert OF['7b'](rows) == pytest.approx(paper['7b'], abs=1e-5)
    small, smaller = (SIZES[f'nt_xent,temperature={tau}'][0] for tau in (0.2, 0.05))
    assert small[-1] - small[0] == pytest.approx(paper['7c'])
    assert smaller[4] - small[4] == pytest.approx(paper['7e'])
