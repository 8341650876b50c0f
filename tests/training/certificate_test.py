"""The certificate of device counts: it passes what is right and catches what is not."""

import functools

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec

from contrastive_jax import losses, sharding
from contrastive_jax.errors import BadInput
from contrastive_jax.training import certificate


def per_device(function):
    """A function of rows as each device would compute it from its own rows alone, averaged."""

    @functools.wraps(function)
    def averaged(z1, z2):
        mesh = jax.sharding.get_abstract_mesh()
        if mesh.empty or mesh.size == 1:
            return function(z1, z2)
        return jax.shard_map(
            lambda *rows: jax.lax.pmean(function(*rows), sharding.AXIS),
            mesh=mesh,
            in_specs=PartitionSpec(sharding.AXIS),
            out_specs=PartitionSpec(),
        )(z1, z2)

    return averaged


def right(z1, z2):
    return losses.nt_xent(z1, z2, temperature=0.2)[0]


@per_device
def without_others(z1, z2):
    """NT-Xent that takes its negatives from the rows of its own device."""
    similarity = jax.numpy.concatenate([z1, z2])
    similarity /= jax.numpy.linalg.norm(similarity, axis=1, keepdims=True)
    logits = similarity @ similarity.T / np.float32(0.2)
    logits = jax.numpy.where(np.eye(len(logits), dtype=bool), np.float32(-1e9), logits)
    positives = np.roll(np.arange(len(logits)), len(z1))
    return -jax.nn.log_softmax(logits)[np.arange(len(logits)), positives].mean()


def without_others_gradient(z1, z2):
    """The value of all rows with the gradient of each device's own: no value shows it."""
    own = without_others(z1, z2)
    return own + jax.lax.stop_gradient(right(z1, z2) - own)


def failing(config, loss, counts=(1, 2, 4)):
    config.loss = {'name': loss}
    differences = certificate.certify(config, counts)
    assert len(differences) == (len(counts) - 1) * len(certificate.QUANTITIES)
    return {(of.quantity, of.devices) for of in differences if not of.agrees}, differences


@pytest.mark.slow
def test_a_right_loss_is_certified(config):
    failures, differences = failing(config, right)
    assert failures == set()
    assert max(of.tolerance for of in differences) < 1e-4
    lines = certificate.table(differences).splitlines()
    assert len(lines) == len(certificate.QUANTITIES) + 2
    assert lines[-1].startswith('all agree; the largest difference is ')


@pytest.mark.slow
def test_a_loss_that_ignores_the_negatives_of_other_devices_is_caught(config):
    failures, differences = failing(config, without_others)
    wrong = {'loss', 'gradient', 'metrics'}
    assert failures == {(quantity, count) for quantity in wrong for count in (2, 4)}
    assert 'loss differs on 2 devices by ' in certificate.table(differences)
    assert 'they do NOT agree' in certificate.table(differences)


@pytest.mark.slow
def test_a_wrong_gradient_of_a_right_value_is_caught(config):
    failures, _ = failing(config, without_others_gradient)
    assert ('gradient', 2) in failures
    assert ('loss', 2) not in failures


def test_a_value_that_is_not_finite_is_no_agreement():
    found = {'step 1': np.float32(np.nan), 'step 2': np.float32(1)}
    expected = {'step 1': np.float32(1), 'step 2': np.float32(2)}
    value, _ = certificate.largest_difference(found, expected)
    assert not certificate.Difference(2, 'loss', value, 0.0, 1e-6, '').agrees


def test_differences_are_relative_to_the_value_or_to_the_largest_entry():
    trees = {'a': {'w': np.ones(3)}, 'b': np.float32(200)}
    moved = {'a': {'w': np.ones(3) + np.array([0, 0.5, 0])}, 'b': np.float32(201)}
    assert certificate.largest_difference(moved, trees) == (0.5, 'a w')
    assert certificate.largest_difference({'b': moved['b']}, {'b': trees['b']}) == (1 / 200, 'b')
    assert certificate.largest_difference({'c': np.float32(0.3)}, {'c': np.float32(0)})[0] < 0.31


@pytest.mark.parametrize(
    ('counts', 'sentence'), [((1, 64), '64 devices are needed, 4 are there'), ((1, 3), '3 devices')]
)
def test_what_cannot_be_certified_says_so(config, counts, sentence):
    with pytest.raises(BadInput, match=sentence):
        certificate.certify(config, counts)
