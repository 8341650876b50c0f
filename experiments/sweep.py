r"""Runs the sweep of a config, one point after another, and draws it.

python -m experiments.sweep --config=configs/chen2021/randbit_digits.py \
    --workdir=runs/randbit_digits
python -m experiments.sweep --config=... --workdir=... --axis data.num_bits=0,4,8 --seeds=0,1,2
python -m experiments.sweep --config=... --workdir=... --count
python -m experiments.sweep --config=... --workdir=... --point=3

Prints a line for each point as it ends, and writes results.csv and figure.png in the workdir.
The same command skips the points that are finished and continues the interrupted one.

Several machines share a sweep by --point, from 0 to --count less 1: it runs that point alone and
writes in its directory alone. The command without --point then reads what is finished, runs what is
not, and writes the table and the figure.

Several processes that train as one, as in `experiments.train` and with the same flags, go through
the points together.
"""

from absl import flags

from experiments import cli, config_files, processes

config_files.define()
processes.define()
AXES = flags.DEFINE_multi_string(
    'axis', [], 'field=value,value: replaces the sweep of the config; repeat it for a product.'
)
COUNT = flags.DEFINE_bool('count', False, 'Prints the number of points, and runs nothing.')
POINT = flags.DEFINE_integer('point', None, 'Runs this point alone, counted from 0.')
SEEDS = flags.DEFINE_string('seeds', '', 'Seeds of every point, such as 0,1,2.')


def main():
    """Flags to one library call."""
    from contrastive_jax.training import sweeps  # not above: --help must answer at once

    module = config_files.module_of_config()
    axes = config_files.parse_axes(AXES.value)
    seeds = config_files.parse_values(SEEDS.value) if SEEDS.value else None
    own = module.sweep() if hasattr(module, 'sweep') else []
    points = sweeps.points(own, axes, seeds)
    if COUNT.value:
        print(len(points))
        return cli.DONE
    with processes.joined():
        config, overrides = config_files.config_and_overrides()
        if POINT.value is not None:
            sweeps.run_point(config, points, POINT.value, flags.FLAGS.workdir, overrides)
            return cli.DONE
        figure = module.figure(config) if hasattr(module, 'figure') else {}
        failed = sweeps.run(config, points, flags.FLAGS.workdir, figure, overrides)
        return cli.FAILED if failed else cli.DONE


if __name__ == '__main__':
    cli.run(main)
