"""Trains one config in one workdir.

python -m experiments.train --config=configs/chen2021/randbit_digits.py --workdir=runs/one
python -m experiments.train --config=... --config.data.num_bits=8 --config.seed=1 --workdir=...

The same command continues an interrupted run; a finished one says so and does nothing.
"""

from experiments import cli, config_files

CONFIG, WORKDIR = config_files.define()


def main():
    """Flags to one library call."""
    from contrastive_jax.training.loop import train  # not above: --help must answer at once

    train(CONFIG.value, WORKDIR.value, config_files.overrides())


if __name__ == '__main__':
    cli.run(main)
