"""How many directions the dense layers of a run pass on: singular values of their weights."""

import numpy as np

from contrastive_jax.evaluation.spectrum import dimensions_above, weight_spectrum
from contrastive_jax.panel import pictures
from contrastive_jax.panel.section import Measure, Section, Value


def section(material, key):
    """Spectra of the weight matrices, a row for each; None where there are no weights."""
    del key
    if not material.weights:
        return None
    spectra = {
        name.removesuffix('/kernel'): values
        for name, values in weight_spectrum(material.weights).items()
    }
    shapes = {name.removesuffix('/kernel'): np.shape(w) for name, w in material.weights.items()}
    measures = [
        Measure(
            name,
            {
                'singular values': Value(len(spectra[name])),
                'above 10 % of the first': Value(dimensions_above(spectra[name], 0.1)),
                'above 1 %': Value(dimensions_above(spectra[name], 0.01)),
                'last / first': Value(float(spectra[name][-1])),
            },
            f'{inputs} inputs, {outputs} outputs',
        )
        for name, (inputs, outputs) in shapes.items()
    ]
    text = (
        'Singular values of the matrix of every dense layer, each over the largest of its own. Few '
        'above the threshold means that the layer passes few directions on, whatever its width.'
    )
    caption = 'Singular values of each dense layer over its largest; in brackets, how many.'
    drawn = {caption: pictures.weight_spectra(spectra)}
    return Section('Weights', text, tuple(measures), drawn, details={'singular values': spectra})
