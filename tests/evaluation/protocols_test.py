"""What every protocol of evaluation owes to the runs that log it."""

import functools

import numpy as np
import pytest

from contrastive_jax.evaluation import protocols

OPTIONS = {'knn': {'k': 5}, 'sgd_probe': {'epochs': 20, 'recipe': 'rusak2022'}}


@pytest.mark.parametrize('name', protocols.__all__)
def test_floats_with_an_interval_that_know_signal_from_noise(name):
    protocol = functools.partial(getattr(protocols, name), **OPTIONS.get(name, {}))
    generator = np.random.default_rng(0)
    train, test = generator.normal(size=(300, 3)), generator.normal(size=(200, 3))
    signal = [rows[:, 0] + 0.2 * generator.normal(size=len(rows)) > 0 for rows in (train, test)]
    found = protocol(train, signal[0], test, signal[1])
    assert all(type(value) is float for value in found.values())
    assert found['test_accuracy'] > 0.8
    noise = protocol(train, generator.integers(0, 2, 300), test, generator.integers(0, 2, 200))
    for results in (found, noise):
        low, high = results['test_accuracy_low'], results['test_accuracy_high']
        assert 0 <= low < results['test_accuracy'] < high <= 1
    assert abs(noise['test_accuracy'] - 0.5) < 0.15
