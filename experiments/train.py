"""Trains one config in one workdir.

python -m experiments.train --config=configs/chen2021/randbit_digits.py --workdir=runs/one
python -m experiments.train --config=... --config.data.num_bits=8 --config.seed=1 --workdir=...
python -m experiments.train --config=... --loss='my_module:my_loss,margin=0.2' --workdir=...

The same command continues an interrupted run; a finished one says so and does nothing. With
--allow_change=num_steps the run in the workdir goes on with another length.

Several processes train as one on all of their devices: run the command on each, with one workdir
that all of them see, and --coordinator=auto on Cloud TPU, Kubernetes, Slurm or Open MPI. Elsewhere:
python -m experiments.train ... --coordinator=10.0.0.1:8476 --num_processes=2 --process_index=0
python -m experiments.train ... --coordinator=10.0.0.1:8476 --num_processes=2 --process_index=1
"""

from absl import flags

from experiments import cli, config_files, processes

config_files.define()
processes.define()
ALLOW_CHANGE = flags.DEFINE_list(
    'allow_change', [], 'Fields such as num_steps that may differ from the run in the workdir.'
)


def main():
    """Flags to one library call."""
    from contrastive_jax.training.loop import train  # not above: --help must answer at once

    with processes.joined():
        config, overrides = config_files.config_and_overrides()
        allowed = [field.removeprefix('config.') for field in ALLOW_CHANGE.value]
        train(config, flags.FLAGS.workdir, overrides, allowed=allowed)


if __name__ == '__main__':
    cli.run(main)
