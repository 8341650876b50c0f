"""Measures the images and feature maps of a run, as `config.measure` asks."""

import functools

from contrastive_jax.evaluation.colours import colour_histogram, colour_r2
from contrastive_jax.evaluation.local_features import layer_agreements
from contrastive_jax.training import embedding
from contrastive_jax.training.local_features import local_features
from contrastive_jax.training.step import compose


def measurement(experiment, variables, measures, check=lambda: None):
    """Computes on the devices what an `ImageMeasures` needs; every process takes part.

    Args:
      experiment: a `build.Experiment`.
      variables: of its model.
      measures: an `ImageMeasures`.
      check: called before every batch; what it raises ends it.

    Returns:
      (train embeddings [n, d], test embeddings [m, d]) -> dict of floats, without devices.
    """
    local = local_features(experiment, variables) if measures.clusters else None
    splits = ('train', 'test') if measures.colour_bins else ()
    histograms = [colour_histograms(experiment, of, measures.colour_bins, check) for of in splits]

    def measure(train, test):
        found = {}
        if local:
            found |= layer_agreements(
                local.images,
                local.maps,
                local.regions,
                num_clusters=measures.clusters,
                patch=measures.patch,
            )
        if histograms:
            of_one_pass = train if train.ndim == 2 else train[0]
            found |= colour_r2(of_one_pass, histograms[0], test, histograms[1])
        return found

    return measure


def colour_histograms(experiment, split, bins, check=lambda: None):
    """The colour histograms of the composed images of a split, [n, bins^3], in its order."""
    dataset = getattr(experiment, split)
    histogram = functools.partial(colour_histogram, bins=bins)

    def step(variables, batch, tables, key):
        del variables
        return {'histograms': histogram(compose(dataset, batch, tables, key)['image'])}

    step = embedding.jit_embed_step(experiment, step)
    return embedding.embed_by(experiment, step, {}, split, check=check)['histograms']
