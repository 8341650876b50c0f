"""Writes what an encoder makes of every example of a split, in a file.

python -m experiments.embed --workdir=runs/one --split=test --output=test.npz
python -m experiments.embed --workdir=runs/one --output=groups.npz --layer=block_group_3
python -m experiments.embed --workdir=runs/one --encoder=untrained --output=untrained.npz
python -m experiments.embed --workdir=runs/one --encoder=r18.safetensors --output=r18.npz
python -m experiments.embed --workdir=runs/one --encoder=my_module:encode --output=mine.npz

The run gives the data, the view (with nothing drawn) and the encoder, unless --encoder says
otherwise: `untrained`, as it was initialised; `pixels`, none at all; a file of torchvision's or
timm's weights, for a run whose model is a resnet with variant='torchvision'; or a function of
yours, from images [n, h, w, c] in [0, 1], a NumPy array, to features [n, d].

The file has `embeddings` (h, or the mean of the layer over places), `projections` (z), `labels`,
`factor_<name>`, `ids` and, where the data have them, `latents`;
`python -m experiments.evaluate --embeddings=...` reads it.
"""

from absl import flags

from experiments import cli

WORKDIR = flags.DEFINE_string('workdir', None, 'The directory of a run.', required=True)
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
    from contrastive_jax.training.embedding import embeddings_of_run

    embedding_files.check_output(OUTPUT.value)
    found = embeddings_of_run(
        WORKDIR.value,
        SPLIT.value,
        step=STEP.value,
        encoder=ENCODER.value,
        layer=LAYER.value,
        limit=LIMIT.value,
        normalize=NORMALIZE.value,
    )
    embedding_files.save(OUTPUT.value, found, found.source)
    shapes = f'{found.h.shape[0]} x {found.h.shape[1]}'
    print(f'{OUTPUT.value}: {shapes}, {found.source}')


if __name__ == '__main__':
    cli.run(main)
