"""What `config.measure` says: what each evaluation measures of images and feature maps."""

from collections.abc import Sequence
from typing import NamedTuple

import jax

from contrastive_jax.errors import BadInput
from contrastive_jax.training import shapes
from contrastive_jax.training.fields import check_number


class ImageMeasures(NamedTuple):
    """Measurements of the images and feature maps of a run.

    Attributes:
      clusters: numbers of clusters K: whether K-means of feature maps, and of raw patches, follows
        the known regions of test images, as `evaluation.layer_agreements`; () for none.
      patch: side of the raw patches in pixels; 0 for an eighth of the image.
      colour_bins: along each channel: how much of the colour histogram of the whole image is read
        from h, as `evaluation.colour_r2`; 0 for none.
    """

    clusters: Sequence[int] = ()
    patch: int = 0
    colour_bins: int = 0


def image_measures(*, clusters=(), patch=0, colour_bins=0):
    """The `ImageMeasures` of the options of `config.measure`; one K may stand by itself.

    Raises:
      BadInput: a number out of its range.
    """
    clusters = tuple(clusters) if isinstance(clusters, Sequence) else (clusters,)
    for number in clusters:
        check_number('measure.clusters', number, least=1, whole=True)
    check_number('measure.patch', patch, least=0, whole=True)
    check_number('measure.colour_bins', colour_bins, least=0, most=8, whole=True)
    return ImageMeasures(clusters, patch, colour_bins)


def check_measures(experiment, whole):
    """Raises BadInput unless the images and the network have what is to be measured.

    Args:
      experiment: a `build.Experiment`.
      whole: whether the encoder sees whole images at rest.
    """
    measures = experiment.measures
    shape = shapes.composed_shapes(experiment.test)['image'].shape
    if measures.colour_bins and (len(shape) != 3 or shape[-1] != 3):
        raise BadInput(
            f'config.measure.colour_bins is {measures.colour_bins}, but images of shape {shape} '
            'have no colours: leave it out.'
        )
    if not measures.clusters:
        return
    if experiment.test.regions is None:
        raise BadInput(
            f'config.measure.clusters is {measures.clusters}, but where objects lie is not known '
            'of these images: leave it out.'
        )
    if not whole:
        raise BadInput(
            f'config.measure.clusters is {measures.clusters}, but centre_crop does not show the '
            'whole image, on which the known regions lie: leave it out.'
        )
    variables = jax.eval_shape(experiment.init_state, experiment.seed_key).variables
    if not shapes.layers_with_maps(experiment, variables):
        raise BadInput(
            f'config.measure.clusters is {measures.clusters}, but config.model has no feature '
            'maps: leave it out.'
        )
    if measures.patch > min(shape[:2]):
        raise BadInput(
            f'config.measure.patch is {measures.patch}, larger than the images of {shape}.'
        )
