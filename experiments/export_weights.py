"""Writes the encoder of a run in torchvision's and timm's format.

python -m experiments.export_weights --workdir=runs/one --output=encoder.safetensors
python -m experiments.export_weights --workdir=runs/one --output=encoder.pth   # needs torch

The run's model is a resnet with variant='torchvision'. The file holds the encoder without its head.
torchvision reads it by `resnet18().load_state_dict(weights, strict=False)`, and Detectron2 (COCO,
LVIS and VOC, the transfer tasks of wu2020) after its own conversion, from its folder:

python tools/convert-torchvision-to-d2.py encoder.pth encoder.pkl

with MODEL.WEIGHTS encoder.pkl, MODEL.RESNETS.DEPTH 18, MODEL.RESNETS.STRIDE_IN_1X1 False (and for
18 and 34 MODEL.RESNETS.RES2_OUT_CHANNELS 64), INPUT.FORMAT RGB, and MODEL.PIXEL_MEAN and PIXEL_STD
0 and 255 for each channel: images are in [0, 1] here, and no view normalises them. (By the source
of that script and of Detectron2; neither was run with these weights yet.)
"""

from pathlib import Path

from absl import flags

from contrastive_jax.errors import BadInput
from experiments import cli

WORKDIR = flags.DEFINE_string('workdir', None, 'The directory of a run.', required=True)
OUTPUT = flags.DEFINE_string(
    'output', None, 'The file: .safetensors, or any other suffix for a state dict.', required=True
)
STEP = flags.DEFINE_integer('step', None, 'Of the checkpoint; empty: the newest.')


def main():
    """Flags to library calls."""
    import jax  # not above: --help answers at once

    from contrastive_jax.models.torchvision_weights import to_torchvision, write_weights
    from contrastive_jax.training.embedding import check_torchvision
    from contrastive_jax.training.restore import restored_run

    if '://' in OUTPUT.value:
        raise BadInput(f'output is {OUTPUT.value!r}; weights are written to a directory.')
    output = Path(OUTPUT.value)
    if output.exists():
        raise BadInput(f'output {output} exists already; choose another.')
    experiment, state = restored_run(WORKDIR.value, step=STEP.value)
    check_torchvision(experiment.model, "torchvision's weights")
    weights = to_torchvision(jax.device_get(state.variables))
    output.parent.mkdir(parents=True, exist_ok=True)
    write_weights(output, weights)
    size = sum(array.nbytes for array in weights.values())
    print(f'{output}: {len(weights)} arrays, {size / 1e6:.1f} MB, of step {int(state.step)}.')


if __name__ == '__main__':
    cli.run(main)
