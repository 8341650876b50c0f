"""One measurement of a trained encoder.

python -m experiments.evaluate --workdir=runs/one
python -m experiments.evaluate --workdir=runs/one --metric=knn,k=20 --factor=code --step=100

On several processes as `experiments.train`, with the same flags.
"""

from absl import flags

from contrastive_jax import names
from experiments import cli, processes

processes.define()
WORKDIR = flags.DEFINE_string('workdir', None, 'The directory of a run.', required=True)
METRIC = flags.DEFINE_string(
    'metric', '', "linear_probe or knn, with options: 'knn,k=1'. Empty: the run's own."
)
FACTOR = flags.DEFINE_string('factor', None, "Factor of the data to read; default: the config's.")
STEP = flags.DEFINE_integer('step', None, 'Of the checkpoint; empty: the newest.')


def main():
    """Flags to one library call."""
    from contrastive_jax.training import hosts  # not above: --help must answer at once
    from contrastive_jax.training.evaluate import evaluate_workdir

    with processes.joined():
        protocol = None
        if METRIC.value:
            name, options = names.parse_call(METRIC.value)
            protocol = {'name': name, **options}
        results = evaluate_workdir(
            WORKDIR.value, step=STEP.value, protocol=protocol, factor=FACTOR.value
        )
        for name, value in results.items() if hosts.is_first() else ():
            print(f'{name:>20} {value:.6g}')


if __name__ == '__main__':
    cli.run(main)
