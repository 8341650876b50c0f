"""The Gaussian pair has the covariance and the information that it declares."""

import numpy as np
import pytest
from scipy import stats

from contrastive_jax.data import probing, sources
from contrastive_jax.errors import BadInput
from tests.data.probing.composing import composed, sides


@pytest.fixture(scope='module')
def source():
    return sources.open_source('synthetic:20000', 'train')


def test_covariance_is_the_papers_and_each_side_sees_its_own(source):
    first, second = (
        side['image'].reshape(-1) for side in sides(probing.gaussian_pair(source), range(20000))
    )
    # Standard errors: of a variance 2 sqrt(2 / n) = .02, of the covariance .015.
    np.testing.assert_allclose(np.cov(first, second), [[2, 0.4], [0.4, 2]], atol=0.08)
    for side in (first, second):
        assert stats.kstest(side, stats.norm(0, np.sqrt(2)).cdf).pvalue > 1e-3


def test_information_is_that_of_the_closed_form(source):
    known = probing.gaussian_pair(source).measure(None)['mutual_information_nats']
    assert known == pytest.approx(0.020411, abs=1e-6)  # wu2020, fact sheet 4.3
    wide = probing.gaussian_pair(source, correlation=-0.5, dimensions=3)
    assert wide.measure(None)['mutual_information_nats'] == pytest.approx(-1.5 * np.log(0.75))
    latents = sides(wide, range(5000))[0]['latents']
    correlations = np.corrcoef(latents.T)[:3, 3:]
    np.testing.assert_allclose(correlations, -0.5 * np.eye(3), atol=0.06)


def test_pairs_are_of_the_example_or_of_the_visit(source):
    for fresh in (False, True):
        dataset = probing.gaussian_pair(source, fresh=fresh)
        now, later = (sides(dataset, range(8), step=step)[1]['image'] for step in (0, 1))
        assert np.array_equal(now, later) == (not fresh)


def test_outside_training_an_example_is_the_first_side(source):
    dataset = probing.gaussian_pair(source, dimensions=2)
    example, (first, second) = composed(dataset, range(8)), sides(dataset, range(8))
    np.testing.assert_array_equal(example['image'], first['image'])
    # Latents are X and Y, whichever of them is seen.
    assert first['latents'].shape == (8, 4)
    np.testing.assert_array_equal(first['latents'][:, :2], first['image'].reshape(8, 2))
    np.testing.assert_array_equal(second['latents'][:, 2:], second['image'].reshape(8, 2))
    for side in (first, second):
        np.testing.assert_array_equal(side['latents'], example['latents'])


@pytest.mark.parametrize(
    ('options', 'sentence'),
    [
        (dict(correlation=1.0), 'correlation is 1.0, outside'),
        (dict(dimensions=0), 'dimensions is 0'),
        (dict(variance=0.0), 'variance is 0.0'),
    ],
)
def test_options_that_cannot_be(source, options, sentence):
    with pytest.raises(BadInput, match=sentence):
        probing.gaussian_pair(source, **options)
