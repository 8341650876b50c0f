"""Everything that is measured of an encoder, or of any embeddings, in one report.

python -m experiments.evaluate --workdir=runs/one
python -m experiments.evaluate --workdir=runs/one --baselines=untrained,pixels --step=100
python -m experiments.evaluate --embeddings=test.npz --train=train.npz --embeddings_b=views.npz
python -m experiments.evaluate --workdir=runs/one --metric=knn,k=20 --factor=code

Prints the numbers, what the doctor found suspicious first and below each table what it means, and
writes report.json and report.html, pictures and all, to --output: by default `report/` in the
workdir, or `<name>_report/` beside the file. A file is .npz with `embeddings` [n, d] and, if known,
`projections`, `labels`, `factor_<name>`, `ids` and `latents` [n, k], or .npy, of any framework;
factors `present_<class>` of 0 and 1 say which classes an example has where it may have several.
--embeddings_b has in row i another view of the same example as row i of --embeddings. Without
--train, probes are fitted on half of the rows.

A run also shows the layers of its encoder: where it keeps the latents that the data were made of,
the spectra of its weights, and how far clusters of its feature maps follow the objects on the
images. report.json has more than the table: every class, every layer and whole spectra.

With --metric one measurement alone is printed. That runs on several processes too, with the flags
of `experiments.train`; a report is made by one.
"""

import time
from pathlib import Path

from absl import flags

from contrastive_jax import names, storage
from contrastive_jax.errors import BadInput
from experiments import cli, processes

processes.define()
WORKDIR = flags.DEFINE_string('workdir', None, 'The directory of a run.')
EMBEDDINGS = flags.DEFINE_string('embeddings', None, 'A file of embeddings.')
EMBEDDINGS_B = flags.DEFINE_string('embeddings_b', None, 'Other views of the same examples.')
TRAIN = flags.DEFINE_string('train', None, 'Embeddings to fit probes on.')
OUTPUT = flags.DEFINE_string('output', None, 'The directory of the report.')
BASELINES = flags.DEFINE_list('baselines', [], "Beside a run: 'untrained', 'pixels', or both.")
LIMIT = flags.DEFINE_integer('limit', 10000, 'The most examples of each split of a run.')
SEED = flags.DEFINE_integer('seed', 0, 'Of what the measurements draw.')
METRIC = flags.DEFINE_string(
    'metric',
    '',
    "One measurement: linear_probe, sgd_probe, knn or identifiability, with options: 'knn,k=1'.",
)
FACTOR = flags.DEFINE_string('factor', None, "For --metric: a factor; default: the config's.")
STEP = flags.DEFINE_integer('step', None, 'Of the checkpoint; empty: the newest.')


def main():
    """Flags to library calls."""
    with processes.joined():
        if (WORKDIR.value is None) == (EMBEDDINGS.value is None):
            raise BadInput('Give --workdir, the directory of a run, or --embeddings, a file.')
        check_flags()
        if METRIC.value or FACTOR.value:
            one_measurement()
        else:
            report()


def check_flags():
    """Raises BadInput for a flag that what is asked for does not read."""
    kind, unread = '--embeddings', ('baselines', 'limit', 'step')
    if METRIC.value or FACTOR.value:
        kind = 'one measurement (--metric, --factor)'
        unread = ('embeddings', 'embeddings_b', 'train', 'output', 'baselines', 'limit', 'seed')
    elif WORKDIR.value:
        kind, unread = '--workdir', ('embeddings_b', 'train')
    for name in unread:
        if flags.FLAGS[name].present:
            raise BadInput(f'--{name} is given, which {kind} does not read: leave it out.')


def one_measurement():
    """Prints what one protocol measures of a run."""
    from contrastive_jax.training import hosts  # not above: --help must answer at once
    from contrastive_jax.training.evaluate import evaluate_workdir

    protocol = None
    if METRIC.value:
        name, options = names.parse_call(METRIC.value)
        protocol = {'name': name, **options}
    results = evaluate_workdir(
        WORKDIR.value, step=STEP.value, protocol=protocol, factor=FACTOR.value
    )
    if hosts.is_first():
        of = FACTOR.value or 'the factor of config.evaluation'
        print(f'{METRIC.value or "config.evaluation"} of {of}:')
        for name, value in results.items():
            print(f'{name:>24} {value:.6g}')


def report():
    """Measures everything, prints it, and writes the report."""
    import jax

    from contrastive_jax import panel
    from contrastive_jax.panel import page

    if jax.process_count() > 1:
        raise BadInput('A report is made by one process; several measure one --metric.')
    started = time.perf_counter()
    material = gather()
    directory = storage.path(OUTPUT.value or default_output())
    storage.make(directory)  # before anything is measured that could not be written
    print(f'gathered in {time.perf_counter() - started:.1f} s', flush=True)
    sections = panel.measure(
        material,
        seed=SEED.value,
        say=lambda title, seconds: print(f'{title.lower()}: {seconds:.1f} s', flush=True),
    )
    print('\n'.join(['', *material.about, '', page.as_text(sections)]))
    title = f'What is in {WORKDIR.value or EMBEDDINGS.value}'
    for name, text in (
        ('report.json', page.as_json(material.about, sections)),
        ('report.html', page.as_html(title, material.about, sections)),
    ):
        storage.write(directory / name, text.encode())
    print(f'\n{directory / "report.html"}, {directory / "report.json"}')


def gather():
    """The material that the flags name."""
    from contrastive_jax.evaluation.embedding_files import load
    from contrastive_jax.panel.material import of_files
    from contrastive_jax.training.panels import material_of_run

    if WORKDIR.value:
        return material_of_run(
            WORKDIR.value, step=STEP.value, limit=LIMIT.value, baselines=BASELINES.value
        )
    others = [path and load(path) for path in (TRAIN.value, EMBEDDINGS_B.value)]
    return of_files(load(EMBEDDINGS.value), *others, seed=SEED.value)


def default_output():
    """Where the report goes unless --output says so."""
    if WORKDIR.value:
        return f'{WORKDIR.value.rstrip("/")}/report'
    path = Path(EMBEDDINGS.value)
    return path.with_name(f'{path.stem}_report')


if __name__ == '__main__':
    cli.run(main)
