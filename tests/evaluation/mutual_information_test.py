"""Mutual information: Gaussian pairs of known information, and saturation."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import (
    estimate_mutual_information,
    ideal_class_estimate,
    mutual_information_of_loss,
    same_class_pairs,
)

SMALL = dict(num_pairs=32, width=32, dimensions=16, num_steps=300, learning_rate=0.01)


def gaussian_pairs(nats, dimensions, count, seed):
    """Correlated normal vectors with I = -d/2 log(1 - rho^2)."""
    generator = np.random.default_rng(seed)
    rho = math.sqrt(1 - math.exp(-2 * nats / dimensions))
    x, noise = generator.normal(size=(2, count, dimensions))
    return x, rho * x + math.sqrt(1 - rho**2) * noise


def small_estimate(key, train, test, **options):
    return estimate_mutual_information(train, test, key=key, **{**SMALL, **options})


def test_gaussian_pairs_and_pairs_that_are_shuffled(key):
    """Features may have any scale."""
    train, test = gaussian_pairs(0.5, 2, 4000, 0), gaussian_pairs(0.5, 2, 3200, 1)
    found = small_estimate(key, train, test)
    assert 0.38 < found['nats'] < 0.5 + 3 * found['standard_error']
    assert found['nats_low'] < found['nats'] < found['nats_high']
    assert 0.005 < found['standard_error'] < 0.03  # that of log p(x, y) / p(x) p(y) alone: 0.0156
    assert found['saturated'] == 0
    assert found['num_batches'] == 100
    assert found['bits'] == pytest.approx(found['nats'] / math.log(2))
    assert found['train_bits'] == pytest.approx(found['train_nats'] / math.log(2))
    assert found['ceiling_nats'] == pytest.approx(math.log(63))
    assert found['temperature_ceiling_bits'] == pytest.approx(
        ideal_class_estimate(math.inf, 32, temperature=0.1, unit='bits')
    )
    mispaired = [(x, np.roll(y, 7, axis=0)) for x, y in (train, test)]
    nothing = small_estimate(key, *mispaired)
    assert -0.1 < nothing['nats'] < 3 * nothing['standard_error']
    scaled = [[1e3 * side + 5 for side in pairs] for pairs in (train, test)]
    assert small_estimate(key, *scaled)['nats'] == pytest.approx(found['nats'], abs=1e-3)


def test_a_head_for_each_side_takes_sides_of_two_kinds(key):
    """log K - L of inner products; y is seen through a map to other dimensions."""
    maps = np.random.default_rng(2).normal(size=(2, 5))
    train, test = gaussian_pairs(0.5, 2, 4000, 0), gaussian_pairs(0.5, 2, 3200, 1)
    train, test = [(jnp.asarray(x, jnp.float32), -y @ maps) for x, y in (train, test)]
    found = small_estimate(key, train, test, bound='info_nce')
    assert 0.38 < found['nats'] < 0.5 + 3 * found['standard_error']
    assert found['ceiling_nats'] == pytest.approx(math.log(32))
    assert math.isnan(found['temperature'])
    assert math.isnan(found['temperature_ceiling_nats'])


@pytest.mark.slow
def test_more_information_than_pairs_can_show_is_flagged_and_the_temperature_is_learned(key):
    """Nearly equal sides: the ceiling of tau = 0.5 binds, until it is learned."""
    pairs = [gaussian_pairs(300, 64, 1600, seed) for seed in (0, 1)]
    options = dict(num_pairs=16, temperature=0.5, width=64, dimensions=64)
    fixed = small_estimate(key, *pairs, **options)
    ceiling = ideal_class_estimate(math.inf, 16, temperature=0.5)
    assert fixed['temperature_ceiling_nats'] == pytest.approx(ceiling)
    assert fixed['temperature'] == pytest.approx(0.5)
    assert 0.95 * ceiling < fixed['nats'] <= ceiling + 3 * fixed['standard_error']
    assert fixed['saturated'] == 1
    learned = small_estimate(key, *pairs, **options, learn_temperature=True, num_steps=600)
    assert learned['temperature'] < 0.3
    assert learned['nats'] > fixed['nats'] + 0.3
    assert learned['half_nats'] < learned['nats'] <= learned['ceiling_nats'] == math.log(31)
    assert learned['saturated'] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ('nats', 'dimensions', 'num_pairs', 'least', 'saturated'),
    [
        (0.02041, 1, 64, 0.01, 0),
        (0.5, 4, 64, 0.4, 0),
        (2, 4, 256, 1.75, 0),
        (5, 10, 64, 3.4, 1),  # not log 127 = 4.84, but doubling the pairs still adds a tenth
        (5, 10, 256, 3.9, 0),
    ],
)
def test_gaussian_pairs_of_known_information(key, nats, dimensions, num_pairs, least, saturated):
    """The estimate is below the truth, and the less below the less there is."""
    train = gaussian_pairs(nats, dimensions, 20_000, 0)
    test = gaussian_pairs(nats, dimensions, 10_000, 1)
    found = estimate_mutual_information(
        train, test, key=key, num_pairs=num_pairs, width=64, num_steps=1500
    )
    assert least < found['nats'] < nats + 2 * found['standard_error']
    assert found['saturated'] == saturated


@pytest.mark.slow
def test_interval_is_as_wide_as_the_estimates_of_other_held_out_pairs_differ(key):
    train = gaussian_pairs(0.5, 2, 640, 0)
    found = [
        small_estimate(key, train, gaussian_pairs(0.5, 2, 640, seed), num_steps=100)
        for seed in range(1, 61)
    ]
    spread = np.std([one['nats'] for one in found], ddof=1)
    error = np.mean([one['standard_error'] for one in found])
    assert spread / error == pytest.approx(1, abs=0.3)  # of 60: 0.3 is over three deviations


@pytest.mark.slow
def test_same_class_pairs_of_separated_classes_reach_the_ideal_estimate(key):
    """64 classes in 128 dimensions, K = 256: 6.00 bits at tau = 0.1, 5.48 at 0.2."""
    generator = np.random.default_rng(0)
    centres, labels = generator.normal(size=(64, 128)), generator.integers(64, size=6000)
    rows = centres[labels] + 0.05 * generator.normal(size=(6000, 128))
    pairs = []
    for half, seed in ((slice(0, 3000), 1), (slice(3000, 6000), 2)):
        first, second = same_class_pairs(labels[half], jax.random.key(seed), num_pairs=5000)
        pairs.append((rows[half][first], rows[half][second]))
    for temperature in (0.1, 0.2):
        found = estimate_mutual_information(*pairs, key=key, temperature=temperature, num_steps=300)
        ideal = ideal_class_estimate(64, 256, temperature=temperature, unit='bits')
        assert found['bits'] == pytest.approx(ideal, abs=0.06)
        assert found['saturated'] == 0


def test_the_estimate_during_training_is_the_bound_of_the_loss():
    found = mutual_information_of_loss(math.log(511) - 1, num_pairs=256, temperature=0.5)
    assert found['nats'] == pytest.approx(1)
    assert found['bits'] == pytest.approx(1 / math.log(2))
    assert found['ceiling_bits'] == pytest.approx(8.997, abs=6e-4)
    assert found['temperature_ceiling_bits'] == pytest.approx(2.867, abs=6e-4)
    assert found['saturated'] == 0
    near = math.log(511) - 0.96 * found['temperature_ceiling_nats']
    assert mutual_information_of_loss(near, num_pairs=256, temperature=0.5)['saturated'] == 1
    plain = mutual_information_of_loss(jnp.float32(near), num_pairs=256)
    assert plain['saturated'] == 0
    assert math.isnan(plain['temperature_ceiling_nats'])
    assert mutual_information_of_loss(0.01, num_pairs=256)['saturated'] == 1


@pytest.mark.parametrize(
    ('change', 'sentence'),
    [
        (dict(num_pairs=41), 'num_pairs is 41, which needs 82 test pairs or more; there are 80'),
        (
            dict(num_pairs=200),
            'num_pairs is 200, which needs 200 train pairs or more; there are 90',
        ),
        (dict(num_pairs=1), 'num_pairs is 1; it must be at least 2'),
        (dict(num_batches=99), 'num_batches is 99; it must be at least 100'),
        (dict(num_steps=0), 'num_steps is 0'),
        (dict(temperature=0), 'temperature is 0; it must be positive'),
        (dict(learning_rate=-1), 'learning_rate is -1'),
        (dict(bound='nwj'), "bound is 'nwj', not one of: nt_xent, info_nce"),
        (dict(width=0), 'width is 0 and dimensions 128'),
        (dict(bound='info_nce', learn_temperature=True), 'info_nce has no temperature to learn'),
    ],
)
def test_options_that_cannot_be(key, change, sentence):
    train, test = np.zeros((2, 90, 3)), np.zeros((2, 80, 3))
    with pytest.raises(BadInput, match=sentence):
        estimate_mutual_information(train, test, key=key, **{'num_pairs': 8, **change})


def test_pairs_that_cannot_be(key):
    x, bad = np.zeros((90, 3)), np.zeros((90, 3))
    bad[4, 1] = np.nan
    for train, test, sentence in (
        ((x, bad), (x, x), '1 of 90 train features of y are not finite, the first is row 4'),
        ((x, x), (x, x[:50]), 'test_pairs have 90 rows of x and 50 of y'),
        ((x, x[:, :2]), (x, x[:, :2]), "3 and 2 dimensions; .* take bound='info_nce'"),
        ((x, x), (x[:, :2], x[:, :2]), 'must be equal'),
        ((x, x, x), (x, x), r'train_pairs must be \(x, y\), got 3 arrays'),
    ):
        with pytest.raises(BadInput, match=sentence):
            estimate_mutual_information(train, test, key=key, num_pairs=8)
    with pytest.raises(BadInput, match='loss must be one finite number, got nan'):
        mutual_information_of_loss(math.nan, num_pairs=8)
    with pytest.raises(BadInput, match='num_pairs is 1'):
        mutual_information_of_loss(1.0, num_pairs=1)
    with pytest.raises(BadInput, match='temperature is 0'):
        mutual_information_of_loss(1.0, num_pairs=8, temperature=0)
