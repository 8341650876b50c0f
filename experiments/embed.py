"""Writes what an encoder makes of every example of a split, in a file.

python -m experiments.embed --workdir=runs/one --split=test --output=test.npz
python -m experiments.embed --workdir=runs/one --output=groups.npz --layer=block_group_3
python -m experiments.embed --workdir=runs/one --encoder=untrained --output=untrained.npz
python -m experiments.embed --workdir=runs/one --encoder=r18.safetensors --output=r18.npz
python -m experiments.embed --config=... --encoder=my_module:encode --output=mine.npz

The run gives the data, the view (with nothing drawn) and the encoder, unless --encoder says
otherwise: `untrained`, as it was initialised; `pixels`, none at all; a file of torchvision's or
timm's weights, for a model that is a resnet with variant='torchvision'; or a function of yours,
from images [n, h, w, c] in [0, 1], a NumPy array, to features [n, d]. With one of these, a config
that never ran serves as well as a run, with all flags of `experiments.train`.

The file has `embeddings` (h, or the mean of the layer over places), `projections` (z), `labels`,
`factor_<name>`, `ids` and, where the data have them, `latents`;
`python -m experiments.evaluate --embeddings=...` reads it.
"""

from absl import flags

from contrastive_jax.errors import BadInput
from experiments import cli, config_files

config_files.define(required=False)
OUTPUT = flags.DEFINE_string('output', None, 'The file, which ends in .npz.', required=True)
SPLIT = flags.DEFINE_enum('split', 'test', ['train', 'test'], 'Which examples.')
ENCODER = flags.DEFINE_string('encoder', '', 'In place of that of the run: see above.')
LAYER = flags.DEFINE_string('layer', '', 'In place of h; an unknown one lists those there are.')
NORMALIZE = flags.DEFINE_enum(
    'normalize', 'imagenet', ['imagenet', 'none'], 'Images for a file of weights; ours take none.'
)
LIMIT = flags.DEFINE_integer('limit', None, 'The most examples; more are drawn from at random.')
STEP = flags.DEFINE_integer('step', None, 'Of the checkpoint; empty: the newest.')


def main():
    """Flags to library calls."""
    from contrastive_jax.evaluation import embedding_files  # not above: --help answers at once
    from contrastive_jax.training.embedding import embeddings_of_config, embeddings_of_run

    workdir = flags.FLAGS.workdir
    if (workdir is None) == (flags.FLAGS.config is None):
        raise BadInput('Give --workdir, the directory of a run, or --config, and not both.')
    embedding_files.check_output(OUTPUT.value)
    options = dict(
        encoder=ENCODER.value, layer=LAYER.value, limit=LIMIT.value, normalize=NORMALIZE.value
    )
    if workdir is not None:
        for name in (*config_files.REPLACEABLE, *config_files.OPTIONAL):
            if flags.FLAGS[name].present:
                raise BadInput(f'--{name} is given, which --workdir does not read: leave it out.')
        found = embeddings_of_run(workdir, SPLIT.value, step=STEP.value, **options)
    elif STEP.value is not None:
        raise BadInput(f'--step is {STEP.value}, but a config has no checkpoints: leave it out.')
    else:
        config, _ = config_files.config_and_overrides()
        found = embeddings_of_config(config, SPLIT.value, **options)
    embedding_files.save(OUTPUT.value, found, found.source)
    shapes = f'{found.h.shape[0]} x {found.h.shape[1]}'
    print(f'{OUTPUT.value}: {shapes}, {found.source}')


if __name__ == '__main__':
    cli.run(main)
