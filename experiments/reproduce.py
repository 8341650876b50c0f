r"""Runs what is missing of a paper's experiments, and judges its claims.

python -m experiments.reproduce --paper=chen2021 --workdir=runs
python -m experiments.reproduce --paper=chen2021 --workdir=runs --only=randbit_digits
python -m experiments.reproduce --paper=chen2021 --judge

An experiment is the sweep of a config that experiments/<paper>/items.csv names for a laptop. Its
runs go to <workdir>/<paper>/<config> and, once all are finished, their table, the figure and what
made them to results/<paper>/<config>. What stands there for the config as it is now is not run
again; what was interrupted goes on. Then every claim of experiments/<paper>/claims whose runs are
there gets its verdict: printed, in results/<paper>/claims.json, and with the figures in
experiments/<paper>/README.md. With --judge nothing is run.
"""

from absl import flags

from experiments import cli

PAPER = flags.DEFINE_string('paper', None, 'The paper, such as chen2021.')
WORKDIR = flags.DEFINE_string('workdir', 'runs', 'The directory that keeps the runs.')
RESULTS = flags.DEFINE_string('results', '', 'Writes all there, and no README: to try things.')
ONLY = flags.DEFINE_list(
    'only', [], 'Names of configs to run, of full scale too; all those of a laptop if empty.'
)
DATA_DIR = flags.DEFINE_string('data_dir', '', 'Where TFDS sets are, for configs that read one.')
JUDGE = flags.DEFINE_bool('judge', False, 'Runs nothing: judges what is there.')
flags.mark_flag_as_required('paper')


def main():
    """Flags to one call."""
    from experiments import reproduction  # not above: --help must answer at once

    failed = reproduction.reproduce(
        PAPER.value,
        WORKDIR.value,
        results=RESULTS.value,
        only=ONLY.value,
        data_dir=DATA_DIR.value,
        judge=JUDGE.value,
    )
    return cli.FAILED if failed else cli.DONE


if __name__ == '__main__':
    cli.run(main)
