"""Identifiability in the panel: an encoder that keeps content and loses style is seen to."""

import numpy as np
import pytest

from contrastive_jax.evaluation import adjusted_r2
from contrastive_jax.panel import latents, page

GROUPS = {'content': [0, 1], 'style': [2]}


@pytest.fixture
def known(material):
    generator = np.random.default_rng(0)
    drawn = generator.normal(size=(100, 3))
    mixed = drawn @ generator.normal(size=(3, 6))
    return material._replace(
        test={'h': drawn[:, :2] @ generator.normal(size=(2, 4)), 'z': np.eye(100)},
        test_latents=drawn,
        latent_groups=GROUPS,
        test_layers={'Dense_0': mixed},
    )


def test_content_is_read_and_style_is_not(known):
    section = latents.section(known, None)
    values = {measure.name: measure.values['h'].value for measure in section.measures}
    assert values['content: adjusted R2'] == pytest.approx(1)
    assert values['content 1: R2'] == pytest.approx(1)
    assert values['style: adjusted R2'] < 0.1
    expected = adjusted_r2(known.test['h'], known.test_latents, groups=GROUPS)
    style = next(m for m in section.measures if m.name == 'style 3: R2').values['h']
    assert style == (pytest.approx(expected['r2'][2]), None, None)
    assert section.details['by layer']['Dense_0']['style_adjusted_r2'] == pytest.approx(1)
    assert len(section.pictures) == 2
    assert '"Dense_0"' in page.as_json((), [section])


def test_more_dimensions_than_rows_are_named_and_not_read(known):
    section = latents.section(known, None)
    assert 'z is not read: activations have 99 regressors and 100 rows' in section.text
    assert all(set(measure.values) == {'h'} for measure in section.measures)


def test_of_many_latents_only_the_groups_are_listed(known):
    many = np.random.default_rng(1).normal(size=(100, latents.LISTED + 1))
    section = latents.section(known._replace(test_latents=many), None)
    names = [measure.name for measure in section.measures]
    assert names == [
        f'{group}: {score}'
        for group in ('all', 'content', 'style')
        for score in ('R2', 'adjusted R2')
    ]
    assert len(section.details['by layer']['h']['r2']) == latents.LISTED + 1


def test_without_latents_there_is_no_section(material):
    assert latents.section(material, None) is None


def test_the_interval_is_of_the_adjusted_score_and_not_of_the_plain_one(material, monkeypatch):
    monkeypatch.setattr(latents.pictures, 'explained', lambda *given: b'')
    generator = np.random.default_rng(0)
    count, width, repeats = 200, 60, 20
    within = []
    for _ in range(repeats):
        noise = material._replace(
            test={'h': generator.normal(size=(count, width))},
            test_latents=generator.normal(size=(count, 1)),
        )
        rows = {m.name: m.values['h'] for m in latents.section(noise, None).measures}
        plain, adjusted = rows['latent 1: R2'], rows['latent 1: adjusted R2']
        assert plain.value > 0.15  # in the sample, where the truth is 0
        assert plain.low is plain.high is None
        error = adjusted_r2(noise.test['h'], noise.test_latents)['adjusted_r2_error'][0]
        assert adjusted.high - adjusted.value == pytest.approx(1.96 * error, rel=1e-3)
        assert adjusted.value - adjusted.low == pytest.approx(1.96 * error, rel=1e-3)
        within.append(adjusted.low <= 0 <= adjusted.high)
    assert np.mean(within) >= 0.85


def test_layers_are_drawn_by_their_adjusted_score_and_h_behind_them(known, monkeypatch):
    shown = []
    monkeypatch.setattr(latents.pictures, 'by_layer', lambda lines: shown.append(lines) or b'')
    wide = np.concatenate(
        [known.test['h'], np.random.default_rng(2).normal(size=(100, 50))], axis=1
    )
    section = latents.section(known._replace(test={'h': wide}), None)
    (lines,) = shown
    assert list(lines) == ['content', 'style']
    assert list(lines['style']) == ['Dense_0', 'h']
    expected = adjusted_r2(wide, known.test_latents, groups=GROUPS)
    assert lines['style']['h'] == pytest.approx(expected['style_adjusted_r2'])
    assert expected['style_r2'] - expected['style_adjusted_r2'] > 0.2
    assert 'fresh' not in section.text  # the rows of a file may be any
