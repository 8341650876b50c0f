"""One probe for every factor, and which factors are left out."""

import functools

import numpy as np
import pytest

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import linear_probe, probe_factors


def data(count, seed):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(count, 3))
    factors = {
        'sign': rows[:, 0] > 0,
        'noise': generator.integers(0, 2, count),
        'constant': np.zeros(count, int),
        'id': np.arange(count),
        'position': rows[:, 1],
        'bits': np.zeros((count, 2), int),
    }
    return rows, factors


def test_each_factor_is_probed_or_left_out_for_a_reason():
    train, train_factors = data(100, 0)
    test, test_factors = data(80, 1)
    found = probe_factors(train, train_factors, test, test_factors)
    assert set(found['results']) == {'sign', 'noise'}
    for name, results in found['results'].items():
        assert results == linear_probe(train, train_factors[name], test, test_factors[name])
    assert found['results']['sign']['test_accuracy'] > 0.9
    assert found['left_out']['constant'] == 'one value in all training rows'
    assert 'a value of its own in each of the 100' in found['left_out']['id']
    assert 'must be integers' in found['left_out']['position']
    assert 'one a row' in found['left_out']['bits']


def test_any_probe_will_do():
    sets = *data(40, 0), *data(30, 1)
    probe = functools.partial(lambda *sets, times: times * len(sets[0]), times=2)
    assert probe_factors(*sets, probe=probe)['results'] == {'sign': 80, 'noise': 80}


def test_names_must_agree():
    train, factors = data(40, 0)
    with pytest.raises(BadInput, match=r"must be the same.*\['sign'\] and \[\]"):
        probe_factors(train, {'sign': factors['sign']}, train, {})
    with pytest.raises(BadInput, match='at least one'):
        probe_factors(train, {}, train, {})
