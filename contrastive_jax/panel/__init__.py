"""The instrument panel: everything that is measured of a set of embeddings, in one report."""

import time

import jax

from contrastive_jax.panel import (
    dimensions,
    doctor,
    geometry,
    information,
    latents,
    local_features,
    reading,
    weights,
)

SECTIONS = (reading, latents, geometry, dimensions, weights, local_features, information)

__all__ = ['measure']


def measure(material, *, seed=0, say=lambda title, seconds: None):
    """Every section of the panel that there is material for, the doctor's at the end.

    Args:
      material: a `Material`.
      seed: of what is drawn: directions of projection, pairs, the critic's parameters.
      say: called with the title of each section and the seconds that it took.

    Returns:
      A list of `Section`.
    """
    sections = []
    for number, part in enumerate(SECTIONS):
        start = time.perf_counter()
        found = part.section(material, jax.random.fold_in(jax.random.key(seed), number))
        if found is not None:
            sections.append(found)
            say(found.title, time.perf_counter() - start)
    doctors = doctor.section(material, sections)
    return [*(part._replace(warnings=()) for part in sections), doctors]
