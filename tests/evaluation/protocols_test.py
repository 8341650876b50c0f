"""What every protocol of evaluation owes to the runs that log it."""

import functools

import numpy as np
import pytest

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import protocols

OPTIONS = {'knn': {'k': 5}, 'sgd_probe': {'epochs': 20, 'recipe': 'rusak2022'}}


@pytest.mark.parametrize('name', sorted({*protocols.__all__} - {*protocols.READ_LATENTS}))
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
    assert protocols.score_of(name) == 'test_accuracy'


def latents_and_embeddings(rows, seed):
    """Two latents that the embeddings hold, and one of which they hold half of the variance."""
    latents, noise = np.random.default_rng(seed).normal(size=(2, rows, 3))
    seen = latents + noise * np.array([0, 0, 1])
    return np.concatenate([seen, seen[:, :1]], axis=1), latents


@pytest.mark.parametrize('held_out', [False, True])
def test_what_is_identified_of_the_latents(held_out):
    (train, train_latents), (test, test_latents) = (
        latents_and_embeddings(rows, seed) for rows, seed in ((4000, 0), (2000, 1))
    )
    found = protocols.identifiability(
        train, train_latents, test, test_latents, held_out=held_out,
        groups={'content': [0, 1], 'style': [2]},
    )  # fmt: skip
    assert all(type(value) is float for value in found.values())
    assert found['regressors'] == 3
    assert found['content_r2'] == pytest.approx(1, abs=1e-9)
    assert found['latent_2_adjusted_r2'] == found['style_adjusted_r2']
    assert found['style_adjusted_r2'] == pytest.approx(0.5, abs=0.06)
    score = protocols.score_of('identifiability')
    assert found[score] == pytest.approx((2 + found['style_adjusted_r2']) / 3, abs=1e-9)
    # One latent of three has an error, of which the mean has a third.
    assert found[f'{score}_low'] < 2.5 / 3 < found[f'{score}_high']
    assert found[f'{score}_high'] - found[f'{score}_low'] < 0.05
    # On the rows of the fit, n of them and p regressors, 1 - R2 is stretched by its known factor.
    stretch = (1 - found['style_adjusted_r2']) / (1 - found['style_r2'])
    assert stretch == pytest.approx(1 if held_out else 1999 / 1996)


def test_what_is_held_out_is_scored_by_the_map_of_the_training_rows():
    generator = np.random.default_rng(0)
    train, test = generator.normal(size=(2, 300, 4))
    sets = train, train[:, :2], test, 3 * test[:, :2]  # another map than that of training
    held_out = protocols.identifiability(*sets, held_out=True)
    # Each prediction is a third of the truth: 1 - (2/3)^2, but for the mean.
    assert held_out['mean_r2'] == pytest.approx(5 / 9, abs=0.02)
    assert protocols.identifiability(*sets)['mean_r2'] == pytest.approx(1)


def test_the_interval_of_what_is_identified_grows_as_regressors_fit_the_noise():
    """The truth is .5; the interval holds it although 150 of 200 regressors fit noise."""
    covered = []
    for seed in range(40):
        generator = np.random.default_rng(seed)
        rows = generator.normal(size=(200, 150))
        latents = rows[:, :1] + generator.normal(size=(200, 1))
        found = protocols.identifiability(rows, latents, rows, latents)
        covered.append(found['mean_adjusted_r2_low'] < 0.5 < found['mean_adjusted_r2_high'])
    assert sum(covered) >= 34  # 38 of 40 at 95 %; fewer than 34 come once in 400 times


def test_a_rehearsal_is_short_and_refuses_what_the_rows_refuse():
    rows = dict(train_rows=1_281_167, test_rows=50_000, features=2048)
    options = {'recipe': 'simclr_imagenet', 'batch_size': 8192}
    assert protocols.rehearsal('sgd_probe', options, **rows) == {**options, 'epochs': 2}
    assert protocols.rehearsal('knn', {'k': 200}, **rows) == {'k': protocols.FEW}
    assert protocols.rehearsal('linear_probe', {'regularization': 0.1}, **rows) == {
        'regularization': 0.1
    }
    assert protocols.rehearsal('identifiability', {}, **rows) == {}
    few = dict(train_rows=15, test_rows=2049, features=2048)
    for name, options, sentence in (
        ('knn', {}, r'k is 20, outside 1\.\.15'),
        ('sgd_probe', {'epochs': 0}, 'epochs is 0'),
        ('sgd_probe', {'epochs': 'abc'}, "epochs is 'abc'; it must be an integer above 0"),
        ('knn', {'k': 'abc'}, "k is 'abc'; it must be a number"),
        ('sgd_probe', {'recipe': 'simclr'}, "recipe is 'simclr', not one of"),
        ('identifiability', {}, 'fits 2048 features on 2049 rows; it needs 2050'),
        ('identifiability', {'held_out': True}, 'on 15 rows'),
    ):
        with pytest.raises(BadInput, match=sentence):
            protocols.rehearsal(name, options, **few)
