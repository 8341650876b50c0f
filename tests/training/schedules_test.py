"""Learning rates: the official numbers, values at given steps, sentences about bad options."""

import jax
import numpy as np
import pytest

from contrastive_jax.errors import BadInput
from contrastive_jax.training.schedules import learning_rate_schedule


def rates(counts, **options):
    with jax.numpy_dtype_promotion('standard'):
        schedule = learning_rate_schedule(**options)
        return np.array([float(schedule(np.int32(count))) for count in counts])


@pytest.mark.parametrize(
    ('base', 'batch', 'total', 'start', 'peak', 'middle', 'half', 'digits'),
    [
        (0.2, 128, 39063, 3906, 2.262742, 21484, 1.131421, 6),  # CIFAR-10, 100 epochs
        (0.075, 1024, 125114, 12511, 2.4, 68812, 1.2, 4),  # ImageNet, 100 epochs
    ],
)
def test_warm_up_and_cosine_are_those_of_the_official_code(
    base, batch, total, start, peak, middle, half, digits
):
    options = dict(
        learning_rate=base, batch_size=batch, scaling='square_root', num_steps=total, warmup=0.1
    )
    counts = [0, start // 2, start, middle, total]
    expected = [0.0, peak * (start // 2) / start, peak, half, 0.0]
    last_digit = 10.0**-digits
    np.testing.assert_allclose(rates(counts, **options), expected, rtol=0, atol=last_digit)
    in_steps = {**options, 'warmup': start}
    np.testing.assert_array_equal(rates(counts, **options), rates(counts, **in_steps))


@pytest.mark.parametrize(
    ('base', 'scaling', 'batch', 'peak'),
    [
        (0.2, 'square_root', 256, 3.2),
        (0.2, 'square_root', 512, 4.525),
        (0.2, 'square_root', 1024, 6.4),
        (0.075, 'square_root', 512, 1.697),
        (0.075, 'square_root', 2048, 3.394),
        (0.075, 'square_root', 4096, 4.8),
        (1.0, 'linear', 512, 2.0),
        (0.1, 'linear', 4096, 1.6),
        (0.03, 'none', 128, 0.03),
    ],
)
def test_the_rate_grows_with_the_batch(base, scaling, batch, peak):
    options = dict(learning_rate=base, scaling=scaling, batch_size=batch, num_steps=9)
    np.testing.assert_allclose(rates([0], **options), peak, rtol=2e-4)


@pytest.mark.parametrize('drops', [(160, 190), (0.8, 0.95), [160, 0.95]])
def test_drops_are_at_steps_or_shares_of_the_run(drops):
    options = dict(learning_rate=0.03, num_steps=200, schedule='step', drops=drops)
    seen = rates([0, 159, 160, 189, 190, 199], **options)
    np.testing.assert_allclose(seen, [0.03, 0.03, 0.003, 0.003, 0.0003, 0.0003], rtol=1e-6)
    warm = rates([0, 5, 10, 159, 160], **options, warmup=10, drop_factor=0.2)
    np.testing.assert_allclose(warm, [0, 0.015, 0.03, 0.03, 0.006], rtol=1e-6)


def test_shares_that_meet_in_a_short_run_drop_together():
    options = dict(learning_rate=1.0, num_steps=2, schedule='step', drops=(0.8, 0.95))
    np.testing.assert_allclose(rates([0, 1], **options), [1.0, 0.01], rtol=1e-6)


def test_a_share_is_not_one_step_short():
    seen = rates([28, 29], learning_rate=1.0, num_steps=100, schedule='step', drops=(0.29,))
    np.testing.assert_allclose(seen, [1.0, 0.1], rtol=1e-6)  # 0.29 * 100 < 29 in floating point


def test_linear_and_constant_follow_the_warm_up():
    options = dict(learning_rate=1.0, num_steps=10, warmup=2)
    np.testing.assert_allclose(
        rates([0, 1, 2, 6, 10], **options, schedule='linear'), [0, 0.5, 1, 0.5, 0], rtol=1e-6
    )
    np.testing.assert_allclose(
        rates([0, 1, 2, 6, 10], **options, schedule='constant'), [0, 0.5, 1, 1, 1], rtol=1e-6
    )


@pytest.mark.parametrize(
    ('options', 'sentence'),
    [
        (dict(learning_rate=0.0), 'learning_rate is 0.0; it must be positive and finite'),
        (dict(learning_rate=float('inf')), 'learning_rate is inf'),
        (dict(learning_rate='fast'), "learning_rate is 'fast'"),
        (dict(scaling='cubic'), "scaling is 'cubic', not one of: linear, none, square_root"),
        (dict(scaling='linear'), "scaling is 'linear', which needs the batch size"),
        (dict(schedule='stairs'), "schedule is 'stairs', not one of: constant, cosine, linear, p"),
        (dict(warmup=20), 'warmup is 20; it must end before the run, which has 20 steps'),
        (dict(warmup=-1), 'warmup is -1; it must be at least 0'),
        (dict(warmup=2.5), 'warmup has 2.5; it must be a whole number of steps'),
        (dict(drops=(5,)), r"drops is \(5,\) and schedule 'cosine'"),
        (dict(schedule='step'), r"drops is \(\) and schedule 'step'"),
        (dict(schedule='step', drops=5), "drops is 5 and schedule 'step'"),
        (dict(drops=5), "drops is 5 and schedule 'cosine'"),
        (dict(schedule='step', drops=(9, 5)), r'drops is \(9, 5\).* must increase'),
        (dict(schedule='step', drops=(20,)), 'to below 20, the end of the run'),
        (dict(schedule='step', drops=(2,), warmup=5), 'end of the warm-up at step 5'),
        (dict(schedule='step', drops=(2,), drop_factor=1), 'drop_factor is 1; it must be posit'),
        (dict(schedule='plateau'), "window is None and schedule 'plateau'"),
        (dict(window=5), "window is 5 and schedule 'cosine'"),
        (dict(schedule='plateau', window=-5), 'window is -5'),
        (dict(schedule='plateau', window=21), 'window is 21; it must be at most the 20 steps'),
        (dict(schedule='plateau', window=5, patience=0.5), 'patience is 0.5; it must be a whole'),
        (dict(schedule='plateau', window=5, max_drops=0), 'max_drops is 0'),
    ],
)
def test_bad_options_are_named(options, sentence):
    with pytest.raises(BadInput, match=f'^config.optimizer.*{sentence}'):
        learning_rate_schedule(**{'learning_rate': 0.1, 'num_steps': 20, **options})
