"""The doctor finds what is broken, and nothing where nothing is."""

import numpy as np
import pytest

from contrastive_jax.panel import doctor, reading
from contrastive_jax.panel.section import Measure, Section, Value


def warnings_of(material, sections=()):
    return doctor.section(material, list(sections)).warnings


def test_sound_material_gets_no_warning(material):
    found = doctor.section(material, [reading.section(material, None)])
    assert found.warnings == ()
    assert found.text == 'Nothing suspicious.'


def swapped(material):
    return material._replace(
        test={'h': material.test['z'][:, 1:], 'z': material.test['h']},
        train={'h': material.train['z'][:, 1:], 'z': material.train['h']},
        test_views={},
    )


def with_h(material, rows):
    return material._replace(test={**material.test, 'h': rows})


BROKEN = {
    'have the same h': lambda m: m._replace(test_views={'h': (m.test['h'], m.test['h'])}),
    '1 of 6 dimensions of h are constant': lambda m: with_h(
        m, m.test['h'] * np.float32([1, 1, 1, 1, 1, 0])
    ),
    'h: Complete collapse': lambda m: with_h(m, m.test['h'] * 1e-3 + np.float32(1)),
    '20 of 100 test rows stand among the training rows': lambda m: with_h(
        m, np.concatenate([m.train['h'][:20], m.test['h'][20:]])
    ),
    '9 of 100 test rows repeat': lambda m: with_h(
        m, np.concatenate([m.test['h'][:1].repeat(10, 0), m.test['h'][10:]])
    ),
    'The test labels stand class after class in the file': lambda m: m._replace(
        test_factors={'label': np.sort(m.test_factors['label'])}
    ),
    '1 of 2 classes of the training rows have no test row, such as 1': lambda m: m._replace(
        test_factors={'label': 0 * m.test_factors['label']}
    ),
    'h are whole numbers from 0 to 255': lambda m: with_h(
        m, np.random.default_rng(0).integers(0, 256, (100, 6)).astype(np.float32)
    ),
    'h has rows of length 0 to': lambda m: with_h(
        m, m.test['h'] * np.float32([0] + [1] * 99)[:, None]
    ),
}


@pytest.mark.parametrize('sentence', BROKEN)
def test_broken_material_is_named_with_its_usual_cause(material, sentence):
    warnings = warnings_of(BROKEN[sentence](material))
    assert any(sentence in warning and 'Usually' in warning for warning in warnings), warnings


def test_h_and_z_in_each_others_place(material):
    broken = swapped(material)
    assert any('swapped' in w for w in warnings_of(broken, [reading.section(broken, None)]))


def test_a_probe_that_knows_its_rows_by_heart(material):
    generator = np.random.default_rng(0)
    broken = material._replace(
        train={'h': generator.normal(size=(120, 200))},
        test={'h': generator.normal(size=(100, 200))},
    )
    warnings = warnings_of(broken, [reading.section(broken, None)])
    assert any('1.00 of its own rows' in warning for warning in warnings)


def test_an_encoder_that_reads_no_more_than_pixels(material):
    noise = np.random.default_rng(0).normal(size=(220, 6))
    broken = material._replace(
        train={'h': noise[:120], 'pixels': material.train['h']},
        test={'h': noise[120:], 'pixels': material.test['h']},
    )
    warnings = warnings_of(broken, [reading.section(broken, None)])
    (said,) = [warning for warning in warnings if 'No more is read from h than from' in warning]
    assert said.startswith('No more is read from h than from pixels: label: linear probe (0.')
    assert 'label: 1-NN (0.' in said
    assert 'The probe of label on h is no better than chance' in '\n'.join(warnings)


def test_an_encoder_whose_latents_an_untrained_one_gives_as_well(material):
    def found(h, untrained):
        values = {'h': Value(h), 'untrained': Value(untrained)}
        part = Section('Latents', measures=(Measure('all: adjusted R2', values, ''),))
        return '\n'.join(warnings_of(material, [part]))

    assert 'than from untrained: all: adjusted R2 (0.505, untrained 0.500)' in found(0.505, 0.5)
    assert 'No more is read' not in found(0.6, 0.5)


def test_a_folder_in_falling_order_is_noticed_too(material):
    labels = np.sort(material.test_factors['label'])[::-1]
    assert any('class after class' in w for w in warnings_of(with_labels(material, labels)))


def with_labels(material, labels):
    return material._replace(test_factors={'label': labels})


def test_blank_rows_of_both_splits_are_no_overlap(material):
    blank = np.float32([0] * 5 + [1] * 95)[:, None]
    broken = with_h(material, material.test['h'] * blank)
    broken = broken._replace(
        train={
            **material.train,
            'h': np.r_[0 * blank[:5] * material.train['h'][:5], material.train['h'][5:]],
        }
    )
    assert not any('among the training rows' in w for w in warnings_of(broken))
