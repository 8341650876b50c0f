"""How many dimensions are in use: collapse, rank, spectrum, and random projections."""

import contextlib

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.collapse import alpha_req, collapse_indicators
from contrastive_jax.evaluation.random_projections import random_projection_histogram
from contrastive_jax.evaluation.spectrum import covariance_spectrum, dimensions_above
from contrastive_jax.panel import pictures
from contrastive_jax.panel.section import Section, measures_of

MEANINGS = {
    'deviation': 'spread of unit rows: 1 for mean zero, 0 for one direction',
    'effective_rank': 'exp of the entropy of the covariance spectrum',
    'rankme': 'the same of the singular values of the rows, not centred',
    'alpha_req': 'slope of the log spectrum: 1 falls as in the visual cortex, more is steeper',
    'active_dimensions': 'directions with more than 1e-6 of the variance of the first',
    'above_1_percent': 'directions with more than 1 % of the variance of the first, unit rows',
    'above_1_percent_unscaled': 'the same of the rows as they are',
    'variance_unscaled': 'of the rows as they are, summed over all directions',
    'possible_dimensions': 'the most that could be: min(n - 1, d)',
    'first_share': 'of the variance, in its largest direction',
    'distance_to_sphere': 'of random projections to those of uniform points; these have 1',
}


def section(material, key):
    """Collapse indicators, covariance spectrum and random projections of every representation."""
    results, spectra, drawn = {}, {}, {}
    for name, rows in material.test.items():
        results[name] = found = collapse_indicators(rows)
        with contextlib.suppress(BadInput):  # too few dimensions to fit a slope
            found['alpha_req'] = alpha_req(rows)
        spectra[name] = spectrum = {
            kind: covariance_spectrum(rows, normalize=kind == 'unit')['singular_values']
            for kind in (('unit', 'raw') if name in ('h', 'z') else ('unit',))
        }
        found['above_1_percent'] = dimensions_above(spectrum['unit'], 0.01)
        if 'raw' in spectrum:
            found['above_1_percent_unscaled'] = dimensions_above(spectrum['raw'], 0.01)
            found['variance_unscaled'] = float(spectrum['raw'].sum())
        histogram = random_projection_histogram(rows, key, prior='uniform_hypersphere')
        found['distance_to_sphere'] = histogram['ratio']
        caption = f'{name}: random projections of unit rows, and those of uniform points.'
        drawn[caption] = pictures.against_prior(name, histogram)
    caption = 'Variance in each direction over that in the first; unit rows, dashed as they are.'
    drawn = {caption: pictures.spectra(spectra), **drawn}
    details = {'covariance spectrum, unit rows and as they are': spectra}
    return Section('Dimensions', '', tuple(measures_of(results, MEANINGS)), drawn, details=details)
