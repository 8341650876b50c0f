"""Measures the images and feature maps of a run, as `config.measure` asks."""

import functools

from contrastive_jax.data.sources import SPLITS
from contrastive_jax.evaluation.colours import colour_histogram, colour_r2
from contrastive_jax.evaluation.local_features import layer_agreements
from contrastive_jax.training import embedding
from contrastive_jax.training.local_features import local_features
from contrastive_jax.training.step import compose


def measurement(experiment, check=lambda: None):
    """What an experiment's `ImageMeasures` asks for; every process takes part.

    Args:
      experiment: a `build.Experiment`.
      check: called before every batch; what it raises ends it.

    Returns:
      (variables of the model) -> ((train embeddings [n, d], test embeddings [m, d]) -> dict of
      floats): the first computes on the devices, the second without them. What does not depend on
      the variables is computed once.
    """
    measures = experiment.measures
    read_maps = local_features(experiment) if measures.clusters else None

    @functools.cache
    def histograms(split):
        return colour_histograms(experiment, split, measures.colour_bins, check)

    def compute(variables):
        local = read_maps(variables) if read_maps else None
        if measures.colour_bins:
            for split in SPLITS:
                histograms(split)

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
            if measures.colour_bins:
                of_one_pass = train if train.ndim == 2 else train[0]
                found |= colour_r2(of_one_pass, histograms('train'), test, histograms('test'))
            return found

        return measure

    return compute


def colour_histograms(experiment, split, bins, check=lambda: None):
    """The colour histograms of the composed images of a split, [n, bins^3], in its order."""
    dataset = getattr(experiment, split)
    histogram = functools.partial(colour_histogram, bins=bins)

    def step(variables, batch, tables, key):
        del variables
        return {'histograms': histogram(compose(dataset, batch, tables, key)['image'])}

    step = embedding.jit_embed_step(experiment, step)
    return embedding.embed_by(experiment, step, {}, split, check=check)['histograms']
