"""Figs. 3 and 4 of Chen 2021: images in clusters of their local features, for several K.

python -m experiments.chen2021.draw_local_features --output=figure.png \
    --simclr=RUN --supervised=RUN

Draws a few test images of the runs: raw pixels, then the deeper block groups of each encoder, one
column for each number of clusters. With --source and --data_dir the images are those of another
source, of any size that the networks take: the paper's are of 448 pixels.
"""

import functools

import jax
import numpy as np
from absl import flags
from flax.errors import ScopeParamShapeError

from contrastive_jax.errors import BadInput
from experiments import cli
from experiments.chen2021.figures.local_features import draw

OUTPUT = flags.DEFINE_string('output', 'figure.png', 'The PNG to write.')
SIMCLR = flags.DEFINE_string('simclr', '', 'Directory of the run of SimCLR.')
SUPERVISED = flags.DEFINE_string('supervised', '', 'Directory of the supervised run.')
SOURCE = flags.DEFINE_string('source', '', 'Source of the images; by default those of the runs.')
DATA_DIR = flags.DEFINE_string('data_dir', '', 'Where TFDS prepared the source.')
IDS = flags.DEFINE_list('ids', ['0', '1'], 'Which images of the source.')
CLUSTERS = flags.DEFINE_list('clusters', ['2', '4', '8'], 'Numbers of clusters.')
PATCH = flags.DEFINE_integer('patch', 0, 'Side of the raw patches; 0 is an eighth of the image.')

GROUPS = 3  # the last of each network: block groups 2 to 4 of a ResNet


def main():
    """Draws what the flags say."""
    runs = {'SimCLR': SIMCLR.value, 'supervised': SUPERVISED.value}
    runs = {name: path for name, path in runs.items() if path}
    if not runs:
        raise BadInput('Give a run to draw: --simclr=DIRECTORY, --supervised=DIRECTORY or both.')
    images, regions, features = None, None, {}
    for name, path in runs.items():
        if SOURCE.value:
            images, maps = maps_of_source(
                path, SOURCE.value, DATA_DIR.value, [int(number) for number in IDS.value]
            )
        else:
            images, maps, regions = maps_of_run(path, count=len(IDS.value))
        last = list(maps.items())[-GROUPS:]
        features |= {f'{name}\n{layer.replace("_", " ")}': values for layer, values in last}
    clusters = [int(number) for number in CLUSTERS.value]
    draw(OUTPUT.value, images, features, clusters, patch=PATCH.value, regions=regions)
    print(f'wrote {OUTPUT.value}')


def maps_of_run(path, count):
    """The first test images of a run, its feature maps of them, and their regions or None."""
    from contrastive_jax.training.local_features import local_features
    from contrastive_jax.training.restore import restored_run

    experiment, state = restored_run(path)
    with jax.set_mesh(experiment.mesh):
        local = local_features(experiment)(state.variables)
    maps = {layer: values[:count] for layer, values in local.maps.items()}
    return local.images[:count], maps, None if local.regions is None else local.regions[:count]


def maps_of_source(path, source, data_dir, ids):
    """Test images of a source, and the feature maps that a run's encoder makes of them."""
    from contrastive_jax.data import sources
    from contrastive_jax.models.layers import layer_outputs
    from contrastive_jax.training.restore import restored_run
    from contrastive_jax.training.shapes import appended_channels, layers_with_maps

    rows = sources.open_source(source, 'test', data_dir).take(np.asarray(ids))
    images = rows['image'].astype(np.float32) / np.float32(255)
    experiment, state = restored_run(path)
    appended = appended_channels(experiment.test)
    if appended or images.shape[-1] != experiment.image_shape[-1]:
        raise BadInput(
            f'--source is {source!r}, with images of {images.shape[-1]} channels; the network of '
            f'{path} sees {experiment.image_shape[-1]}, of which {appended} are appended by its '
            'data: take a source with as many, and a run that appends none.'
        )
    layers = layers_with_maps(experiment, state.variables)
    outputs = functools.partial(layer_outputs, experiment.model, layers=layers, pooled=False)
    try:
        found = jax.jit(outputs)(state.variables, images)
    except ScopeParamShapeError as error:
        side, seen = (
            ' x '.join(map(str, of[-3:-1])) for of in (images.shape, experiment.image_shape)
        )
        raise BadInput(
            f'--source is {source!r}, with images of {side} pixels; the network of {path} has a '
            f'dense layer that sees each place and takes only images of {seen}: take a source of '
            'that size.'
        ) from error
    return images, {layer: np.asarray(found[layer], np.float32) for layer in layers}


if __name__ == '__main__':
    cli.run(main)
