"""The material of a panel from a run: its embeddings, its views, and what stands beside them."""

import math

import jax
import numpy as np
from flax.traverse_util import flatten_dict

from contrastive_jax.data.sources import EncodedSource
from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.embedding_files import FACTOR
from contrastive_jax.models.layers import layers_before_features, main_layers
from contrastive_jax.panel.material import Material
from contrastive_jax.training import workdir
from contrastive_jax.training.bind_views import shows_whole
from contrastive_jax.training.embedding import (
    Pixels,
    embed_split,
    embed_views,
    initial_variables,
)
from contrastive_jax.training.local_features import local_features
from contrastive_jax.training.restore import restored_run
from contrastive_jax.training.shapes import shapes_of_layers

BASELINES = ('untrained', 'pixels')
MOST_PIXELS = 10_000
# Losses whose gradient over the negatives of an anchor is a softmax of all their cosines, with the
# weight exp(cosine / temperature). Of two encoders z has both, so that its cosines are neither's.
SOFTMAX = (
    'anisotropic_info_nce', 'contrastive', 'cross_view_info_nce', 'decoupled_nt_xent',
    'distribution_matching', 'generalized_contrastive', 'instance_discrimination',
    'instance_discrimination_views', 'nt_xent', 'queue_contrastive', 'sphere_info_nce',
)  # fmt: skip
# Two programs that compute the same rows round them differently, by less than this share.
ROUNDING = 1e-3


def material_of_run(path, *, step=None, limit=10000, baselines=()):
    """What a panel measures of a run.

    Args:
      path: the directory of the run.
      step: of the checkpoint; the newest sound one by default.
      limit: the most examples of each split; more are drawn from at random.
      baselines: of BASELINES: the encoder as it was initialised, and no encoder at all.

    Returns:
      A `Material`.

    Raises:
      BadInput: no run, no checkpoint, or an unknown baseline.
    """
    for name in baselines:
        if name not in BASELINES:
            raise BadInput(f'baselines has {name!r}, not one of: {", ".join(BASELINES)}.')
    experiment, state = restored_run(path, step=step)
    if 'pixels' in baselines and (size := math.prod(experiment.image_shape)) > MOST_PIXELS:
        raise BadInput(
            f"baselines has 'pixels', but an image has {size} numbers; at most {MOST_PIXELS} are "
            'probed.'
        )
    with jax.set_mesh(experiment.mesh):
        encoders = {'': (state.variables, None)}
        if 'untrained' in baselines:
            encoders['untrained'] = (initial_variables(experiment), None)
        if 'pixels' in baselines:
            encoders['pixels'] = ({}, Pixels())
        rows, factors, views, own = {}, {}, {}, {}
        for split in ('train', 'test'):
            found = {
                name: embed_split(experiment, variables, split, model=model, limit=limit)
                for name, (variables, model) in encoders.items()
            }
            own[split] = found.pop('')
            rows[split] = {'h': own[split]['embeddings'], 'z': own[split]['projections']}
            rows[split] |= {name: others['embeddings'] for name, others in found.items()}
            factors[split] = {
                name.removeprefix(FACTOR): values
                for name, values in own[split].items()
                if name.startswith(FACTOR)
            }
            views[split] = embed_views(experiment, state.variables, split, limit=limit)
    counts = ' and '.join(f'{len(rows[split]["h"])} {split}' for split in rows)
    about = [
        f'The run in {path} after step {int(state.step)}: {counts} examples, nothing drawn, and '
        'views of them as in training.',
        *held_decoded(experiment),
    ]
    if np.array_equal(rows['test']['h'], rows['test']['z']):
        for split in rows:
            del rows[split]['z']
            views[split].pop('z', None)
        about.append('The model has no head: z is h.')
    return Material(
        train=rows['train'],
        test=rows['test'],
        train_factors=factors['train'],
        test_factors=factors['test'],
        train_views=views['train'],
        test_views=views['test'],
        about=tuple(about),
        **beyond_embeddings(
            experiment,
            state,
            workdir.read_config(path),
            own['test'],
            limit=limit,
            untrained=encoders.get('untrained', (None,))[0],
        ),
    )


def held_decoded(experiment):
    """A sentence on the splits whose views are not cropped as in training, if there are any."""
    splits = [
        split
        for split in ('train', 'test')
        if experiment.crops_on_host
        and not isinstance(getattr(experiment, split).source, EncodedSource)
    ]
    if splits:
        yield (
            f'But the {" and ".join(splits)} images are held decoded: their crops are of images '
            'that are scaled already, where training crops the images of the files.'
        )


def beyond_embeddings(experiment, state, config, own, *, limit=None, untrained=None):
    """What a run tells beyond its embeddings: fields of `Material`, by name.

    Args:
      experiment: a `build.Experiment`.
      state: its `TrainState`.
      config: of the run, a dict.
      own: what `embed_split` gives of the test examples.
      limit: the most examples.
      untrained: variables of the encoder as it was initialised, or None.
    """
    layers, latents = {}, own.get('latents')
    with jax.set_mesh(experiment.mesh):
        if latents is not None:
            layers = rows_of_layers(experiment, state.variables, own, limit)
        read_maps = local_features(experiment, whole=shows_whole(config['views']))
        local = read_maps and read_maps(state.variables, untrained)
    return {
        'temperature': temperature_of(config['loss']),
        'test_latents': latents,
        'latent_groups': dict(experiment.test.latent_groups),
        'test_layers': layers,
        'weights': dense_kernels(state.params),
        'local': local,
    }


def temperature_of(loss):
    """The temperature of `config.loss`, if it is one fixed number of a softmax; see SOFTMAX."""
    softmax = loss['name'] in SOFTMAX and loss.get('similarity', 'cosine') == 'cosine'
    temperature = loss.get('temperature')
    return temperature if softmax and isinstance(temperature, int | float) else None


def rows_of_layers(experiment, variables, own, limit):
    """What the main layers before h make of the test examples, but for one that is h or z itself.

    Args:
      experiment: a `build.Experiment`.
      variables: of its model.
      own: what `embed_split` gives of the test examples.
      limit: as there.

    Returns:
      dict of layer to [n, w], first to last.
    """
    layers = layers_before_features(
        experiment.model,
        variables,
        np.zeros((1, *experiment.image_shape), np.float32),
        main_layers(shapes_of_layers(experiment, variables)),
    )
    if not layers:
        return {}
    found = embed_split(experiment, variables, 'test', layers=layers, limit=limit)
    rows = {name: found[f'layer_{name}'] for name in layers}
    known = [own[name] for name in ('embeddings', 'projections')]
    return {
        name: values
        for name, values in rows.items()
        if not any(alike(values, others) for others in known)
    }


def alike(rows, others):
    """Whether two arrays are the same but for ROUNDING."""
    return rows.shape == others.shape and bool(
        np.max(np.abs(rows - others)) <= ROUNDING * np.max(np.abs(others))
    )


def dense_kernels(params):
    """The weight matrices of the dense layers by their path."""
    return {
        name: np.asarray(kernel)
        for name, kernel in flatten_dict(params, sep='/').items()
        if name.split('/')[-1] == 'kernel' and kernel.ndim == 2
    }
