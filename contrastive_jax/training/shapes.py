"""Shapes before anything compiles: what a batch is, what the model sees, whether a config fits."""

import contextlib

import jax
import numpy as np

from contrastive_jax.data.probing.dataset import evaluation_draws
from contrastive_jax.errors import BadInput
from contrastive_jax.models.layers import layer_outputs, main_layers


def batch_shapes(dataset, batch_size, with_partners=False):
    """The shapes and types of a batch of a dataset's source, with those of partners if asked."""
    shapes = {
        'image': jax.ShapeDtypeStruct((batch_size, *dataset.source.image_shape), 'uint8'),
        'label': jax.ShapeDtypeStruct((batch_size,), 'int32'),
        'id': jax.ShapeDtypeStruct((batch_size,), 'int32'),
    }
    partners = {f'partner_{name}': shape for name, shape in shapes.items()}
    return shapes | partners if with_partners else shapes


def train_batch_shapes(experiment, batch_size):
    """The shapes and types of a batch that an experiment trains on."""
    on_host = experiment.crops_on_host
    own = batch_shapes(experiment.train, batch_size, bool(experiment.pairing) or on_host)
    if not experiment.negatives:
        return own
    others = batch_shapes(experiment.negatives, batch_size, on_host)
    return own | {f'negative_{name}': shape for name, shape in others.items()}


def composed_shapes(dataset):
    """The shapes and types of one composed example, as a dict; see `ProbingDataset.compose`."""
    example = {
        name: jax.ShapeDtypeStruct(value.shape[1:], value.dtype)
        for name, value in batch_shapes(dataset, 1).items()
    }
    draws = jax.eval_shape(evaluation_draws, jax.random.key(0))
    with early_sentences():
        return jax.eval_shape(dataset.compose, draws, example, dataset.tables)


def seen_shape(dataset, view):
    """(h, w, c) of what the model sees: the view of a composed image with its appended channels."""
    image = composed_shapes(dataset)['image']
    with early_sentences():
        height, width, channels = jax.eval_shape(view, image).shape
    return height, width, channels + appended_channels(dataset)


def appended_channels(dataset):
    """How many channels, constant over the places of an image, stand behind those of its view."""
    return composed_shapes(dataset)['channels'].shape[0]


def output_shapes(model, image_shape):
    """(f, d, whether it has batch norm) of a model's features h [n, f] and projections z [n, d]."""
    with early_sentences():
        (h, z), variables = jax.eval_shape(
            lambda images, key: model.init_with_output(key, images, train=False),
            jax.ShapeDtypeStruct((1, *image_shape), 'float32'),
            jax.random.key(0),
        )
    return h.shape[-1], z.shape[-1], bool(variables.get('batch_stats'))


def check_shapes(experiment, batch_size):
    """Traces the train step without compiling it, so that a bad option is an early sentence."""
    with early_sentences():
        train_state = jax.eval_shape(experiment.init_state, experiment.seed_key)
        shapes = train_batch_shapes(experiment, batch_size)
        _, metrics = jax.eval_shape(
            experiment.train_step, train_state, shapes, experiment.train_tables, experiment.seed_key
        )
    for name, metric in metrics.items():
        if metric.shape or name in ('step', 'images_per_second'):
            raise BadInput(
                f'The loss has a part {name!r} of shape {metric.shape}; parts must be scalars '
                "with names other than 'step' and 'images_per_second'."
            )


@contextlib.contextmanager
def early_sentences():
    """What goes wrong while a config is traced, as one sentence."""
    try:
        yield
    except Exception as error:  # the loss may be the user's: anything may happen in it
        kind = '' if isinstance(error, ValueError) else f'{type(error).__name__}: '
        reason = ' '.join(str(error).split())
        raise BadInput(f'The config does not make a train step: {kind}{reason}') from error


def shapes_of_layers(experiment, variables, pooled=True):
    """What `layer_outputs` would give of all layers for one image, without computing it."""
    image = jax.ShapeDtypeStruct((1, *experiment.image_shape), np.float32)
    return jax.eval_shape(
        lambda variables, images: layer_outputs(experiment.model, variables, images, pooled=pooled),
        variables,
        image,
    )


def layers_with_maps(experiment, variables):
    """The main layers of a network that have places, first to last; see `models.layers`.

    Args:
      experiment: a `build.Experiment`.
      variables: of its model, or their shapes.
    """
    shapes = shapes_of_layers(experiment, variables, pooled=False)
    return [name for name in main_layers(shapes) if len(shapes[name].shape) == 4]
