"""Trains one config in one workdir.

python -m experiments.train --config=configs/chen2021/randbit_digits.py --workdir=runs/one
python -m experiments.train --config=... --config.data.num_bits=8 --config.seed=1 --workdir=...
python -m experiments.train --config=... --loss='my_module:my_loss,margin=0.2' --workdir=...

The same command continues an interrupted run; a finished one says so and does nothing. With
--allow_change=num_steps the run in the workdir goes on with another length.
"""

from absl import flags

from experiments import cli, config_files

config_files.define()
ALLOW_CHANGE = flags.DEFINE_list(
    'allow_change', [], 'Fields such as num_steps that may differ from the run in the workdir.'
)


def main():
    """Flags to one library call."""
    from contrastive_jax.training.loop import train  # not above: --help must answer at once

    config, overrides = config_files.config_and_overrides()
    allowed = [field.removeprefix('config.') for field in ALLOW_CHANGE.value]
    train(config, flags.FLAGS.workdir, overrides, allowed=allowed)


if __name__ == '__main__':
    cli.run(main)
