r"""Runs the sweep of a config, one point after another, and draws it.

python -m experiments.sweep --config=configs/chen2021/randbit_digits.py \
    --workdir=runs/randbit_digits
python -m experiments.sweep --config=... --workdir=... --axis data.num_bits=0,4,8 --seeds=0,1,2

Prints a line for each point as it ends, and writes results.csv and figure.png in the workdir.
The same command skips the points that are finished and continues the interrupted one.
"""

from absl import flags

from experiments import cli, config_files

config_files.define()
AXES = flags.DEFINE_multi_string(
    'axis', [], 'field=value,value: replaces the sweep of the config; repeat it for a product.'
)
SEEDS = flags.DEFINE_string('seeds', '', 'Seeds of every point, such as 0,1,2.')


def main():
    """Flags to one library call."""
    from contrastive_jax.training import sweeps  # not above: --help must answer at once

    module = config_files.module_of_config()
    axes = config_files.parse_axes(AXES.value)
    seeds = config_files.parse_values(SEEDS.value) if SEEDS.value else None
    own = module.sweep() if hasattr(module, 'sweep') else []
    points = sweeps.points(own, axes, seeds)
    config, overrides = config_files.config_and_overrides()
    figure = module.figure(config) if hasattr(module, 'figure') else {}
    failed = sweeps.run(config, points, flags.FLAGS.workdir, figure, overrides)
    return cli.FAILED if failed else cli.DONE


if __name__ == '__main__':
    cli.run(main)
