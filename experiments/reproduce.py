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

import functools
import importlib
import json
from pathlib import Path

from absl import flags

from contrastive_jax.errors import BadInput, RunFailed
from experiments import cli

PAPER = flags.DEFINE_string('paper', None, 'The paper, such as chen2021.')
WORKDIR = flags.DEFINE_string('workdir', 'runs', 'The directory that keeps the runs.')
RESULTS = flags.DEFINE_string('results', '', 'Writes all there, and no README: to try things.')
ONLY = flags.DEFINE_list('only', [], 'Names of configs to run; all if empty.')
DATA_DIR = flags.DEFINE_string('data_dir', '', 'Where TFDS sets are, for configs that read one.')
JUDGE = flags.DEFINE_bool('judge', False, 'Runs nothing: judges what is there.')
flags.mark_flag_as_required('paper')

ROOT = Path(__file__).parents[1]


def main():
    """Runs, publishes, judges, writes."""
    from experiments import paper_page, published

    items = paper_page.read_items(items_file(PAPER.value))
    names = list(dict.fromkeys(Path(item['laptop_config']).stem for item in items))
    names = [name for name in names if name]
    for name in ONLY.value:
        if name not in names:
            raise BadInput(f'--only names {name!r}, not one of: {", ".join(names)}.')
    claims = importlib.import_module(f'experiments.{PAPER.value}.claims').CLAIMS
    claims = sorted(claims, key=lambda claim: (len(claim.id), claim.id))  # 9a before 10a
    drawings = importlib.import_module(f'experiments.{PAPER.value}.figures').DRAWINGS
    results = Path(RESULTS.value or ROOT / 'results') / PAPER.value
    failed, there = [], {}
    for name in names:
        module, config, points = sweep_of(name)
        directory = results / name
        if not published.is_current(directory, config, points) and wanted(name):
            try:
                run(name, module, config, points, directory)
            except (BadInput, RunFailed) as error:
                failed.append(name)
                print(f'{name} was not run: {error}', flush=True)
        if published.is_current(directory, config, points):
            rows = published.read_rows(directory)
            there[name] = rows, published.read_record(directory)
            draw = drawings.get(name, functools.partial(draw_sweep, module, config, points))
            draw(rows, directory / 'figure.png')
        elif (directory / published.RECORD).exists():
            print(f'{name}: {directory} holds the runs of another config, which are not judged.')
    records, waiting = judged(claims, there)
    paper_page.say(records, waiting)
    results.mkdir(parents=True, exist_ok=True)
    text = json.dumps(records, indent=2, ensure_ascii=False) + '\n'
    (results / 'claims.json').write_text(text, encoding='utf-8')
    if not RESULTS.value:
        page = ROOT / 'experiments' / PAPER.value / 'README.md'
        paper_page.write(page, PAPER.value, items, claims, records, waiting, there)
    return cli.FAILED if failed else cli.DONE


def items_file(paper):
    """The path of a paper's items.csv; BadInput where there is no such paper."""
    papers = sorted(path.parent.name for path in ROOT.glob('experiments/*/items.csv'))
    if paper not in papers:
        raise BadInput(f'--paper is {paper!r}, not one of: {", ".join(papers)}.')
    return ROOT / 'experiments' / paper / 'items.csv'


def wanted(name):
    """Whether the flags ask to run this experiment where it is missing."""
    return not JUDGE.value and (not ONLY.value or name in ONLY.value)


def command(name):
    """What runs an experiment."""
    return f'python -m experiments.reproduce --paper={PAPER.value} --only={name}'


def sweep_of(name):
    """The module of a config file, its config and the points of its sweep."""
    module = importlib.import_module(f'configs.{PAPER.value}.{name}')
    config = module.get_config()
    if DATA_DIR.value and config.data.source.startswith('tfds:'):
        config.data.data_dir = DATA_DIR.value
    return module, config, module.sweep()


def run(name, module, config, points, directory):
    """Runs the sweep, or what is missing of it, and publishes it."""
    from contrastive_jax.training import sweeps
    from experiments import published

    root = f'{WORKDIR.value}/{PAPER.value}/{name}'
    print(f'\n{name}: {published.scale_of(config, points)}', flush=True)
    overrides = {'data.data_dir': config.data.data_dir} if DATA_DIR.value else {}
    if failed := sweeps.run(config, points, root, figure_of(module, config), overrides):
        raise RunFailed(f'{len(failed)} of {len(points)} runs failed: {", ".join(failed)}.')
    published.publish(directory, root, config, points, command(name))


def figure_of(module, config):
    """How the config file draws its sweep, or {}."""
    return module.figure(config) if hasattr(module, 'figure') else {}


def draw_sweep(module, config, points, rows, path):
    """Draws rows as the config file says."""
    from contrastive_jax import reporting
    from contrastive_jax.training import sweeps

    figure = figure_of(module, config)
    axes, score = list(points[0]), sweeps.score_of(config, points)
    reporting.draw_sweep(path, rows, axes, sweeps.figure_for(axes, figure, score, rows))


def judged(claims, there):
    """The records of the claims whose runs are there, and (claim, why not) of the others.

    Args:
      claims: list of `Claim`.
      there: {config name: (rows, record)}.
    """
    from contrastive_jax.evaluation.claims import judge

    records, waiting = [], []
    for claim in claims:
        name = Path(claim.config).stem
        if name not in there:
            waiting.append((claim, f'not run: {command(name)}'))
            continue
        rows, made = there[name]
        try:
            found = judge(claim, rows)
        except ValueError as error:
            waiting.append((claim, f'cannot be judged: {error}'))
            continue
        records.append(record_of(claim, found, made))
    return records, waiting


def record_of(claim, found, made):
    """A claim as claims.json has it."""
    said = ('id', 'claim', 'source', 'statistic', 'threshold', 'direction')
    return {
        **{name: getattr(claim, name) for name in said},
        **found,
        'command': made['command'],
        'scale': made['scale'],
        'config': claim.config,
        'commit': ', '.join(made['commits']),
        'machine': made['machine'],
        'paper_value': claim.paper_value,
        'scale_needed': claim.scale_needed,
    }


if __name__ == '__main__':
    cli.run(main)
