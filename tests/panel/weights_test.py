"""Spectra of weight matrices in the panel."""

import numpy as np

from contrastive_jax.panel import weights


def test_directions_above_a_threshold_are_counted(material):
    kernel = np.diag([4.0, 2.0, 0.2, 0.01])[:, [2, 0, 3, 1]]
    section = weights.section(material._replace(weights={'head/Dense_0/kernel': kernel}), None)
    (measure,) = section.measures
    assert (measure.name, measure.meaning) == ('head/Dense_0', '4 inputs, 4 outputs')
    values = {name: value.value for name, value in measure.values.items()}
    assert values['singular values'] == 4
    assert values['above 10 % of the first'] == 2
    assert values['above 1 %'] == 3
    np.testing.assert_allclose(values['last / first'], 0.0025)
    assert len(section.pictures) == 1


def test_without_weights_there_is_no_section(material):
    assert weights.section(material, None) is None
