"""Random projections: a prior recognises its own, and no other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import random_projection_histogram
from contrastive_jax.losses.generalized import PRIORS, draw_prior


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize('prior', PRIORS)
def test_a_sample_of_the_prior_is_at_the_floor_and_no_other(key, prior):
    """The ratio of 300 own samples is near 1, that of other laws far from it."""
    ratios = {}
    for other in (*PRIORS, 'cone'):
        law = 'normal' if other == 'cone' else other
        z = draw_prior(law, (300, 8), key=jax.random.key(7)) + np.float32(other == 'cone')
        ratios[other] = random_projection_histogram(z, key, prior=prior)['ratio']
    assert 0.6 < ratios[prior] < 1.6
    # Unit rows of normal ones are uniform on the sphere, those of the cube very nearly.
    others = {'cone'} if prior == 'uniform_hypersphere' else {*ratios} - {prior}
    assert all(ratios[other] > 2 for other in others)
    assert prior != 'uniform_hypersphere' or ratios['normal'] < 1.6


def test_floor_is_exceeded_once_in_twenty():
    exceeded = 0
    for seed in range(100):
        found = random_projection_histogram(
            draw(seed, 40, 3), jax.random.key(seed), prior='normal', bins=1
        )
        assert 0 < found['floor'] <= found['floor_high']
        exceeded += found['distance'] > found['floor_high']
    low, high = stats.binom.interval(0.999, 100, 0.05)
    assert low <= exceeded <= high


def test_distance_of_a_shift_and_of_a_scale():
    """In one dimension: |shift| for a long shift; E|x| times the change of a scale."""
    z = draw(1, 4000, 1)
    options = dict(prior='normal', num_projections=1)
    shifted = random_projection_histogram(z + 9, jax.random.key(1), **options)
    np.testing.assert_allclose(shifted['distance'], 9, atol=5 * (2 / 4000) ** 0.5)
    tripled = random_projection_histogram(3 * z, jax.random.key(1), **options)
    np.testing.assert_allclose(tripled['distance'], 2 * (2 / np.pi) ** 0.5, rtol=0.1)


def test_histograms_are_densities_and_average_to_the_whole(key):
    found = random_projection_histogram(
        draw(2, 50, 6), key, prior='uniform_hypersphere', num_projections=8, bins=9
    )
    widths = np.diff(found['edges'])
    assert found['densities'].shape == (8, 9)
    np.testing.assert_allclose(found['densities'] @ widths, 1)
    np.testing.assert_allclose(found['densities'].mean(axis=0), found['density'])
    np.testing.assert_allclose(found['prior_density'] @ widths, 1)
    assert found['edges'][-1] == -found['edges'][0] <= 1 + 1e-6


def test_sphere_sees_directions_only_and_directions_are_orthogonal(key):
    """A full basis keeps squared lengths: the mean square of projections is 1 / d."""
    z = draw(3, 30, 4)
    lengths = np.random.default_rng(4).uniform(1, 5, (30, 1))
    found, scaled = (
        random_projection_histogram(rows, key, prior='uniform_hypersphere', bins=2000)
        for rows in (z, z * lengths)
    )
    np.testing.assert_allclose(found['distance'], scaled['distance'], rtol=1e-5)
    centres = (found['edges'][:-1] + found['edges'][1:]) / 2
    square = np.sum(found['density'] * np.diff(found['edges']) * centres**2)
    np.testing.assert_allclose(square, 0.25, atol=1e-3)


def test_same_key_same_result_and_order_of_rows_does_not_matter(key):
    z = draw(5, 40, 3)
    first, again, turned = (
        random_projection_histogram(rows, key, prior='normal') for rows in (z, z, z[::-1])
    )
    assert first['distance'] == again['distance']
    np.testing.assert_allclose(turned['distance'], first['distance'], rtol=1e-5)
    np.testing.assert_array_equal(turned['densities'], first['densities'])


def test_collapsed_and_half_precision_rows(key):
    for z in (np.zeros((5, 3)), jnp.ones((5, 3), jnp.bfloat16)):
        for prior in PRIORS:
            found = random_projection_histogram(z, key, prior=prior)
            assert all(np.isfinite(value).all() for value in found.values())
            assert found['ratio'] > 1


def test_bad_input(key):
    z = np.ones((4, 3))
    with pytest.raises(BadInput, match="prior is 'cube'; it must be one of uniform_hypersphere"):
        random_projection_histogram(z, key, prior='cube')
    with pytest.raises(BadInput, match='num_projections is 0'):
        random_projection_histogram(z, key, prior='normal', num_projections=0)
    with pytest.raises(BadInput, match='bins is 0'):
        random_projection_histogram(z, key, prior='normal', bins=0)
    with pytest.raises(BadInput, match='at least 2'):
        random_projection_histogram(z[:1], key, prior='normal')
    with pytest.raises(BadInput, match='not finite'):
        random_projection_histogram(z * np.nan, key, prior='normal')
