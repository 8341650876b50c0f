"""Content and style: the latents have the laws that they declare, and g can be undone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from contrastive_jax import losses
from contrastive_jax.data import probing, sources
from contrastive_jax.data.probing.mixing import draw_mixing, mix, unmix
from contrastive_jax.errors import BadInput
from tests.data.probing.composing import composed, sides


@pytest.fixture(scope='module')
def source():
    return sources.open_source('synthetic:10000', 'train')


def pair(source, count=10_000, step=0, **options):
    dataset = probing.content_style(source, mixing_layers=0, **options)
    found = sides(dataset, range(count), step)
    for side in found:  # without layers the observation is the latent
        np.testing.assert_array_equal(side['image'][:, 0, 0], side['latents'])
    return [side['latents'] for side in found]


def test_box_is_uniform_content_is_shared_and_style_is_a_truncated_normal(source):
    first, second = pair(source, content_dimensions=3, deviation=0.3)
    np.testing.assert_array_equal(first[:, :3], second[:, :3])
    for column in (0, 5):
        assert stats.kstest(first[:, column], 'uniform').pvalue > 1e-3
    mean, style = first[:, 7].astype(float), second[:, 7].astype(float)
    law = stats.truncnorm(-mean / 0.3, (1 - mean) / 0.3, mean, 0.3)
    assert stats.kstest(law.cdf(style), 'uniform').pvalue > 1e-3
    assert style.min() >= 0
    assert style.max() <= 1


@pytest.mark.parametrize('concentration', [0.0, 4.0, 200.0])
def test_style_on_the_sphere_has_the_cosines_of_its_law(source, concentration):
    first, second = pair(
        source, space='sphere', dimensions=5, content_dimensions=0,
        conditional='von_mises_fisher', concentration=concentration,
    )  # fmt: skip
    np.testing.assert_allclose(np.linalg.norm(second, axis=1), 1, atol=1e-5)
    # z is uniform: in five dimensions a coordinate has density ~ 1 - z^2.
    assert stats.kstest((first[:, 3] + 1) / 2, stats.beta(2, 2).cdf).pvalue > 1e-3
    cosines = np.sum(first * second, axis=1)

    def density(cosine):
        return np.exp(concentration * (cosine - 1)) * (1 - cosine**2)  # (d - 3) / 2 = 1

    grid = np.linspace(-1, 1, 20_001)
    below = integrate.cumulative_trapezoid(density(grid), grid, initial=0)
    found = np.interp(cosines, grid, below / below[-1])
    assert stats.kstest(found, 'uniform').pvalue > 1e-3


def test_normal_style_on_the_sphere_has_the_angles_of_its_law(source):
    first, second = pair(
        source, space='sphere', dimensions=5, content_dimensions=0, conditional='normal',
        deviation=0.5,
    )  # fmt: skip
    cosines = np.sum(first * second, axis=1, dtype=np.float64)
    # Of z + N(0, s^2) the part along z is N(1, s^2) and the rest s times a chi of 4 degrees: the
    # squared cotangent is that of a non-central F.
    cotangents = cosines**2 / (1 - cosines**2)
    assert stats.kstest(4 * cotangents, stats.ncf(1, 4, 1 / 0.5**2).cdf).pvalue > 1e-3
    assert np.mean(cosines > 0) == pytest.approx(stats.norm.cdf(2), abs=0.006)


def test_the_sphere_shares_content_up_to_one_factor(source):
    first, second = pair(
        source, 100, space='sphere', conditional='von_mises_fisher', content_dimensions=2
    )
    ratio = second[:, :2] / first[:, :2]
    np.testing.assert_allclose(ratio[:, 0], ratio[:, 1], rtol=1e-4)
    assert np.abs(first[:, 2:] - second[:, 2:]).max() > 0.1


def test_the_losses_of_the_true_latents_are_those_of_table_1(source):
    # Rusak 2022, Table 1, f = g^-1; means and deviations of the fact sheet, 10,000 samples.
    first, second = map(jnp.asarray, pair(source, content_dimensions=2))
    parts = losses.box_info_nce(first, second, temperature=1.0)[1]
    assert float(parts['align']) == pytest.approx(0.0190, abs=4 * 0.0097 / 100)
    assert float(parts['uniform']) == pytest.approx(7.70, abs=0.01)
    first, second = map(
        jnp.asarray,
        pair(source, space='sphere', conditional='von_mises_fisher', content_dimensions=2),
    )
    parts = losses.sphere_info_nce(first, second, temperature=1.0)[1]
    assert float(parts['align']) == pytest.approx(-0.196, abs=4 * 0.321 / 100)
    assert float(parts['uniform']) == pytest.approx(9.260, abs=0.01)


@pytest.mark.parametrize('layers', [0, 1, 3])
def test_g_is_well_conditioned_and_can_be_undone(source, layers):
    mixing = draw_mixing(0, 10, layers, 0.001)
    assert mixing.shape == (layers, 10, 10)
    latents = np.random.default_rng(0).uniform(size=(50, 10)).astype(np.float32)
    observed = mix(mixing, latents)
    np.testing.assert_allclose(unmix(mixing, observed), latents, atol=1e-4)
    assert np.array_equal(observed, latents) == (layers == 0)
    random = np.random.default_rng(1).uniform(-1, 1, (2000, 10, 10))
    usual = np.quantile(np.linalg.cond(random / np.linalg.norm(random, axis=1, keepdims=True)), 0.1)
    for layer in mixing:
        np.testing.assert_allclose(np.linalg.norm(layer, axis=0), 1, atol=1e-6)
        assert np.linalg.cond(layer) < usual
    dataset = probing.content_style(source, mixing_layers=layers)
    example = composed(dataset, range(20))
    expected = mix(mixing, example['latents'])
    np.testing.assert_allclose(example['image'][:, 0, 0], expected, atol=1e-5)
    conditions = [1.0, *map(np.linalg.cond, mixing)]
    assert dataset.measure(None)['mixing_condition'] == pytest.approx(max(conditions))


def test_latents_are_drawn_at_each_visit_or_belong_to_the_example(source):
    for fresh in (False, True):
        (first, style), (later, other) = (pair(source, 20, step, fresh=fresh) for step in (0, 1))
        assert np.array_equal(first, later) == (not fresh)
        assert not np.array_equal(style, other)
    assert np.array_equal(*pair(source, 5, conditional='delta'))


def test_outside_training_an_example_is_the_first_side(source):
    dataset = probing.content_style(source, fresh=False, mixing_layers=0)
    example, (first, second) = composed(dataset, range(20)), sides(dataset, range(20))
    np.testing.assert_array_equal(example['latents'], first['latents'])
    assert not np.array_equal(example['latents'], second['latents'])


@pytest.mark.parametrize(
    ('options', 'sentence'),
    [
        (dict(space='torus'), "space is 'torus', not one of: box, sphere"),
        (dict(content_dimensions=11), r'content_dimensions is 11, outside 0\.\.10'),
        (dict(conditional='von_mises_fisher'), 'those of the box are: normal, delta'),
        (dict(concentration=3.0), "the conditional 'normal' has no concentration"),
        (dict(deviation=0.0), 'deviation is 0.0; it must be above 0'),
        (dict(ratio=2), 'ratio is 2, outside'),
        (dict(mixing_layers=-1), 'mixing_layers is -1'),
        (dict(space='sphere', dimensions=1), 'in the sphere it must be at least 2'),
    ],
)
def test_options_that_cannot_be(source, options, sentence):
    with pytest.raises(BadInput, match=sentence):
        probing.content_style(source, **options)


def test_composition_is_that_of_each_example_alone(source):
    dataset = probing.content_style(source)
    together, alone = composed(dataset, range(6)), composed(dataset, [4])
    np.testing.assert_allclose(together['image'][4], alone['image'][0], atol=1e-6)
    assert jax.tree.map(np.shape, alone)['image'] == (1, 1, 1, 10)
