"""Adjusted R2: scikit-learn's fit, and what a linear map is known to read."""

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import adjusted_r2


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def data(count=80, width=6, latents=3):
    x = draw(0, count, width) * 10.0 ** np.arange(width) + 5
    return x, x[:, :latents] / 10.0 ** np.arange(latents) + 0.7 * draw(1, count, latents)


@pytest.mark.parametrize('train_share', [None, 0.6])
def test_agrees_with_scikit_learn(train_share):
    x, y = data()
    train, test = (slice(48), slice(48, None)) if train_share else (slice(None),) * 2
    found = adjusted_r2(x, y, train_share=train_share)
    predicted = LinearRegression().fit(x[train], y[train]).predict(x[test])
    expected = r2_score(y[test], predicted, multioutput='raw_values')
    np.testing.assert_allclose(found['r2'], expected, rtol=1e-9)
    # Of rows that the fit did not see there is nothing to adjust.
    adjusted = expected if train_share else 1 - (1 - expected) * (80 - 1) / (80 - 7)
    np.testing.assert_allclose(found['adjusted_r2'], adjusted, rtol=1e-9)
    np.testing.assert_allclose(found['mean_r2'], expected.mean())
    np.testing.assert_allclose(found['mean_adjusted_r2'], adjusted.mean())
    assert found['regressors'] == 6


def test_groups_are_means_over_their_latents():
    x, y = data()
    found = adjusted_r2(x, y, groups={'content': [0, 2], 'style': [1]})
    np.testing.assert_allclose(found['content_r2'], found['r2'][[0, 2]].mean())
    np.testing.assert_allclose(found['content_adjusted_r2'], found['adjusted_r2'][[0, 2]].mean())
    assert found['style_adjusted_r2'] == found['adjusted_r2'][1]


def test_an_invertible_linear_map_reads_all_and_a_collapsed_one_content_alone():
    """Style is not in the activations: by adjustment its score is zero on average."""
    latents = draw(2, 400, 5)
    whole = adjusted_r2(latents @ draw(3, 5, 5) + 1, latents)
    np.testing.assert_allclose(whole['r2'], 1)
    groups = {'content': [0, 1], 'style': [2, 3, 4]}
    content = latents[:, :2] @ draw(4, 2, 20)  # twenty activations of rank two
    found = adjusted_r2(content, latents, groups=groups)
    assert found['regressors'] == 2
    np.testing.assert_allclose(found['content_adjusted_r2'], 1)
    assert abs(found['style_adjusted_r2']) < 5 * np.sqrt(4 / 400**2 / 3)


def test_adjustment_takes_out_what_noise_fits():
    """40 regressors of noise fit 40 / 99 of the variance of 100 rows; adjusted, none on average."""
    plain, adjusted = [], []
    for seed in range(60):
        found = adjusted_r2(draw(10 + seed, 100, 40), draw(200 + seed, 100, 2))
        plain.append(found['mean_r2'])
        adjusted.append(found['mean_adjusted_r2'])
    assert abs(np.mean(plain) - 40 / 99) < 5 * np.std(plain) / 60**0.5
    assert abs(np.mean(adjusted)) < 5 * np.std(adjusted) / 60**0.5


def test_duplicate_and_constant_columns_bring_nothing():
    x, y = data()
    doubled = np.column_stack([x, x[:, :2], x[:, 0] - x[:, 1], np.full(80, 0.1), np.zeros(80)])
    found, plain = adjusted_r2(doubled, y), adjusted_r2(x, y)
    assert found['regressors'] == 6
    np.testing.assert_allclose(found['adjusted_r2'], plain['adjusted_r2'])
    nothing = adjusted_r2(np.ones((80, 3)), y)
    assert nothing['regressors'] == 0
    np.testing.assert_allclose(nothing['adjusted_r2'], 0, atol=1e-12)


@pytest.mark.parametrize(
    ('rows', 'regressors', 'train_share'), [(200, 2, None), (100, 60, None), (400, 60, 0.5)]
)
def test_error_is_the_deviation_over_draws(rows, regressors, train_share):
    """Of 300 draws, which leave 4 % of a deviation; with many regressors rather too large.

    Of rows that were not fitted the draw of the fit is left out, so of one fit.
    """
    found, errors = [], []
    x, y = draw(9, rows, regressors), draw(10, rows, 1)
    y += x[:, :1]
    for seed in range(300):
        fresh = slice(rows // 2, None) if train_share else slice(None)
        count = len(x[fresh])
        x[fresh] = draw(seed, count, regressors)
        y[fresh] = x[fresh, :1] + draw(1000 + seed, count, 1)
        result = adjusted_r2(x, y, train_share=train_share)
        found.append(result['adjusted_r2'][0])
        errors.append(result['adjusted_r2_error'][0])
    ratio = np.mean(errors) / np.std(found)
    assert 0.85 < ratio < (1.6 if regressors * 2 > rows else 1.15)


def test_what_is_scored_out_of_sample_is_not_adjusted_again():
    """Half of the variance is read: 200 fitted rows and 100 regressors leave little of it."""
    found = []
    for seed in range(60):
        x = draw(seed, 1000, 100)
        y = x[:, :1] + draw(1000 + seed, 1000, 1)
        found.append(adjusted_r2(x, y, train_share=0.2))
    assert all(one['adjusted_r2'] == one['r2'] for one in found)
    # The prediction error of least squares on normal rows: sigma^2 (1 + p / (n - p - 2)), less the
    # intercept's share.
    expected = 1 - (1 + 100 / (200 - 100 - 2)) / 2
    middle = [one['mean_adjusted_r2'] for one in found]
    assert abs(np.mean(middle) - expected) < 5 * np.std(middle) / 60**0.5 + 0.01


def test_half_precision():
    x, y = data(width=3)
    x = x / 10.0 ** np.arange(3)
    given = jnp.asarray(x, jnp.bfloat16), jnp.asarray(y, jnp.float16)
    found = adjusted_r2(*given)
    exact = adjusted_r2(*(np.asarray(array).astype(np.float64) for array in given))
    np.testing.assert_allclose(found['r2'], exact['r2'])


@pytest.mark.parametrize(
    ('shapes', 'options', 'sentence'),
    [
        (((5, 2), (4, 1)), {}, '5 and 4 rows'),
        (((5, 4), (5, 1)), {}, '4 regressors and 5 rows; more than regressors'),
        (((5, 9), (5, 1)), {}, '4 regressors and 5 rows'),
        (((9, 4), (9, 1)), {'train_share': 0.5}, '3 regressors and 4 rows'),
        (((9, 2), (9, 1)), {'train_share': 1.0}, 'train_share is 1.0'),
        (((9, 2), (9, 1)), {'train_share': 0.1}, 'leaves 1 to fit and 8 to score'),
        (((9, 2), (9, 2)), {'groups': {'content': [0, 2]}}, r"groups\['content'\] must be columns"),
        (((9, 2), (9, 2)), {'groups': {'content': []}}, r"groups\['content'\] must be columns"),
        (((9, 2), (9, 2)), {'groups': {'mean': [0]}}, "no name may be 'mean'"),
        (((9, 2), (9, 2)), {'groups': {'adjusted': [0]}}, "or end in 'adjusted'"),
    ],
)
def test_bad_input(shapes, options, sentence):
    with pytest.raises(BadInput, match=sentence):
        adjusted_r2(draw(0, *shapes[0]), draw(1, *shapes[1]), **options)


def test_bad_values():
    x, y = data()
    with pytest.raises(BadInput, match='latent 1 is constant over the scored rows'):
        adjusted_r2(x, np.where(np.arange(3) == 1, 0.1, y))
    with pytest.raises(BadInput, match='activations are not finite'):
        adjusted_r2(np.full((5, 1), np.nan), np.ones((5, 1)))
