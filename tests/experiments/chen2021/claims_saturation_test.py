"""Bits at saturation, of curves whose answer is known."""

import pytest

from contrastive_jax.evaluation import log_sum_exp_of_codes
from experiments.chen2021.claims.saturation import (
    CLAIMS,
    saturated_at,
    sliced_slope,
    slope_on_batch,
)


def rows_of(distribution, temperature, saturated):
    """A straight fall that ends at the given number of bits, {batch: bits}, and then nothing."""
    return [
        {
            'loss.distribution': distribution,
            'loss.temperature': temperature,
            'batch_size': batch,
            'data.num_bits': bits,
            'train_loss': -3.0 + max(0, end - bits),
        }
        for batch, end in saturated.items()
        for bits in range(1, 15)
    ]


def test_a_tenth_of_the_fall_may_be_left_whatever_the_sign_of_the_loss():
    assert saturated_at({1: 10.0, 2: 2.0, 3: 1.0, 4: 0.5, 5: 0.0}) == 3
    assert saturated_at({1: -5.0, 2: -13.0, 3: -14.0, 4: -15.0}) == 3
    assert saturated_at({1: 1.0, 2: 0.0}) == 2
    assert saturated_at({1: 0.0, 2: 1.0, 3: 2.0}) == 1
    with pytest.raises(ValueError, match='may lie in a gap'):
        saturated_at({1: 1.0, 4: 0.1, 5: 0.0})


def test_the_sweep_lets_the_answer_differ_from_what_is_expected():
    from configs.chen2021.saturation_laptop import sweep

    def slopes(end):
        rows = [
            {**point, 'train_loss': -float(min(point['data.num_bits'], end[point['batch_size']]))}
            for point in sweep()
            if point['seed'] == 0
        ]
        return [claim.of_seed(rows) for claim in CLAIMS]

    # From 1 bit to `end` in equal steps, of which the last is more than a tenth of the fall.
    assert slopes({128: 3, 512: 3, 2048: 3}) == pytest.approx([0, 0, 0, 0], abs=1e-12)
    assert slopes({128: 9, 512: 7, 2048: 5}) == pytest.approx([-1, -1, -1, -1])


def test_one_bit_a_doubling_is_a_slope_of_one():
    rows = rows_of('log_sum_exp', 0.05, {128: 5, 512: 7, 2048: 9})
    rows += rows_of('sliced_wasserstein', '', {128: 6, 512: 6, 2048: 6})
    where = {'loss.distribution': 'log_sum_exp', 'loss.temperature': 0.05}
    assert slope_on_batch(rows, where) == pytest.approx(1.0)
    assert sliced_slope(rows) == pytest.approx(0.0, abs=1e-12)
    assert CLAIMS[0].of_seed(rows) == pytest.approx(1.0)


def test_the_idealised_encoder_saturates_where_the_config_looks():
    from configs.chen2021.saturation_laptop import DIMENSIONS, MOST_BITS, SATURATED

    for temperature, expected in SATURATED.items():
        for batch, bits in expected.items():
            losses = {
                k: log_sum_exp_of_codes(k, batch, temperature=temperature, dimensions=DIMENSIONS)
                for k in range(1, MOST_BITS + 1)
            }
            assert saturated_at(losses) == bits, (temperature, batch)
