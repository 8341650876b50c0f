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
    assert style.value == pytest.approx(expected['r2'][2])
    assert style.high - style.value == pytest.approx(1.96 * expected['r2_error'][2], rel=1e-3)
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
