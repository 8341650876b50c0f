"""Spirals: the arm is read from angle and radius; views share the point alone."""

import numpy as np
import pytest
from scipy import stats

from contrastive_jax.data import probing, sources
from contrastive_jax.errors import BadInput
from tests.data.probing.composing import composed, sides


@pytest.fixture(scope='module')
def source():
    return sources.open_source('synthetic:4000', 'train')


@pytest.mark.parametrize('mirror', [False, True])
def test_points_lie_on_the_arm_that_is_declared(source, mirror):
    dataset = probing.spirals(source, noise=0.0, mirror=mirror)
    assert not dataset.sides_differ
    points = sides(dataset, range(4000))[0]
    x, y = points['image'].reshape(-1, 2).T
    radius, arm = np.hypot(x, y), points['arm']
    turn = np.where(arm == 1, -1, 1) if mirror else 1
    angle = turn * 1.5 * np.pi * radius + np.pi * arm  # 3 pi t at radius 2t
    np.testing.assert_allclose(radius * np.cos(angle), x, atol=1e-5)
    np.testing.assert_allclose(radius * np.sin(angle), y, atol=1e-5)
    assert stats.kstest(radius / 2, 'uniform').pvalue > 1e-3
    assert stats.chisquare(np.bincount(arm)).pvalue > 1e-3


def test_noise_is_of_the_side_uniform_and_of_one_sign(source):
    first, second = sides(probing.spirals(source, noise=0.4), range(4000))
    np.testing.assert_array_equal(first['latents'], second['latents'])
    moves = [side['image'].reshape(-1, 2) - side['latents'] for side in (first, second)]
    for move in moves:
        # Float32 leaves a rounding of 1e-7 at the ends of the range.
        assert stats.kstest(move.ravel() / 0.4, 'uniform').pvalue > 1e-3
    assert abs(np.corrcoef(moves[0][:, 0], moves[1][:, 0])[0, 1]) < 0.06


def test_outside_training_points_are_clean_and_those_of_training(source):
    dataset = probing.spirals(source, noise=0.4)
    example, (first, _) = composed(dataset, range(100)), sides(dataset, range(100))
    np.testing.assert_array_equal(example['image'].reshape(-1, 2), example['latents'])
    for name in ('latents', 'arm'):
        np.testing.assert_array_equal(example[name], first[name])


def test_negative_noise_is_refused(source):
    with pytest.raises(BadInput, match='noise is -1; it must be at least 0'):
        probing.spirals(source, noise=-1)
