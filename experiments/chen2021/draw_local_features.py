"""Figs. 3 and 4 of Chen 2021: images in clusters of their local features, for several K.

python -m experiments.chen2021.draw_local_features --output=figure.png \
    --simclr=RUN --supervised=RUN

Draws a few test images of the runs: raw pixels, then the deeper block groups of each encoder, one
column for each number of clusters. With --source and --data_dir the images are those of another
source, of any size that the networks take: the paper's are of 448 pixels.
"""

from absl import flags

from contrastive_jax.errors import BadInput
from experiments import cli
from experiments.chen2021.figures.local_features import draw
from experiments.chen2021.local_maps import maps_of_run, maps_of_source

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


if __name__ == '__main__':
    cli.run(main)
