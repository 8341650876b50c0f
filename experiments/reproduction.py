"""Reproduces a paper: runs the experiments that are missing, judges its claims, writes its page."""

import functools
import importlib
import json
from pathlib import Path

from contrastive_jax import reporting
from contrastive_jax.errors import BadInput, RunFailed
from contrastive_jax.evaluation.claims import judge as judge_claim
from contrastive_jax.training import sweeps
from experiments import paper_page, published

ROOT = Path(__file__).parents[1]


def reproduce(paper, workdir, *, results='', only=(), data_dir='', judge=False):
    """Runs what is missing of a paper's experiments, judges its claims and writes its page.

    Args:
      paper: its name; experiments/<paper> has items.csv, claims and figures.
      workdir: the directory that keeps the runs.
      results: writes results there and no page; results/ and the page if empty.
      only: names of the configs to run, those of full scale among them; all of a laptop's if empty.
      data_dir: where TFDS sets are.
      judge: runs nothing.

    Returns:
      The names of the experiments that could not be run.

    Raises:
      BadInput: no such paper or config.
    """
    items = paper_page.read_items(items_file(paper))
    laptop, full = (names_of(items, column) for column in ('laptop_config', 'full_config'))
    names = list(dict.fromkeys(laptop + full))
    for name in only:
        if name not in names:
            raise BadInput(f'--only names {name!r}, not one of: {", ".join(names)}.')
    drawings = importlib.import_module(f'experiments.{paper}.figures').DRAWINGS
    directory = Path(results or ROOT / 'results') / paper
    failed, there = [], {}
    for name in names:
        module, config, points = sweep_of(paper, name, data_dir)
        own = directory / name
        if not published.is_current(own, config, points) and name in (only or laptop) and not judge:
            root = f'{workdir}/{paper}/{name}'
            try:
                run(module, config, points, root, data_dir)
                published.publish(own, root, config, points, command(paper, name))
            except (BadInput, RunFailed) as error:
                failed.append(name)
                print(f'{name} was not run: {error}', flush=True)
        if published.is_current(own, config, points):
            rows = published.read_rows(own)
            made = {
                'scale': published.scale_of(config, points),
                'data': config.data.source.partition(',')[0],
                **published.read_record(own),
            }
            there[name] = rows, made
            draw = drawings.get(name, functools.partial(draw_sweep, module, config, points))
            draw(rows, own / 'figure.png')
        elif (own / published.RECORD).exists():
            print(f'{name}: {own} holds the runs of another config, which are not judged.')
    claims = importlib.import_module(f'experiments.{paper}.claims').CLAIMS
    claims = sorted(claims, key=lambda claim: (len(claim.id), claim.id))  # 9a before 10a
    records, waiting = judged(paper, claims, there)
    paper_page.say(records, waiting)
    directory.mkdir(parents=True, exist_ok=True)
    text = json.dumps(records, indent=2, ensure_ascii=False) + '\n'
    (directory / 'claims.json').write_text(text, encoding='utf-8')
    if not results:
        page = ROOT / 'experiments' / paper / 'README.md'
        paper_page.write(page, paper, items, records, waiting, there)
    return failed


def items_file(paper):
    """The path of a paper's items.csv; BadInput where there is no such paper."""
    papers = sorted(path.parent.name for path in ROOT.glob('experiments/*/items.csv'))
    if paper not in papers:
        raise BadInput(f'--paper is {paper!r}, not one of: {", ".join(papers)}.')
    return ROOT / 'experiments' / paper / 'items.csv'


def names_of(items, column):
    """The names of the configs in a column of items.csv, each once."""
    return list(dict.fromkeys(Path(item[column]).stem for item in items if item[column]))


def command(paper, name):
    """What runs an experiment."""
    return f'python -m experiments.reproduce --paper={paper} --only={name}'


def sweep_of(paper, name, data_dir):
    """The module of a config file, its config and the points of its sweep."""
    module = importlib.import_module(f'configs.{paper}.{name}')
    config = module.get_config()
    if data_dir and config.data.source.startswith('tfds:'):
        config.data.data_dir = data_dir
    return module, config, module.sweep()


def run(module, config, points, root, data_dir):
    """Runs the sweep, or what is missing of it; RunFailed where a point failed."""
    print(f'\n{root}: {published.scale_of(config, points)}', flush=True)
    overrides = {'data.data_dir': config.data.data_dir} if data_dir else {}
    if failed := sweeps.run(config, points, root, figure_of(module, config), overrides):
        raise RunFailed(f'{len(failed)} of {len(points)} runs failed: {", ".join(failed)}.')


def figure_of(module, config):
    """How the config file draws its sweep, or {}."""
    return module.figure(config) if hasattr(module, 'figure') else {}


def draw_sweep(module, config, points, rows, path):
    """Draws rows as the config file says."""
    axes, score = list(points[0]), sweeps.score_of(config, points)
    figure = sweeps.figure_for(axes, figure_of(module, config), score, rows)
    reporting.draw_sweep(path, rows, axes, figure)


def judged(paper, claims, there):
    """The records of the claims whose runs are there, and (claim, why not) of the others.

    A claim has two records, the second at full scale, where both its configs were run.

    Args:
      paper: its name.
      claims: list of `Claim`.
      there: {config name: (rows, record)}.
    """
    records, waiting = [], []
    for claim in claims:
        configs = [config for config in (claim.config, claim.full_config) if config]
        run = [config for config in configs if Path(config).stem in there]
        if not run:
            waiting.append((claim, f'not run: {command(paper, Path(claim.config).stem)}'))
        for config in run:
            rows, made = there[Path(config).stem]
            try:
                found = judge_claim(claim, rows)
            except ValueError as error:
                where = ' at full scale' if config == claim.full_config else ''
                waiting.append((claim, f'cannot be judged{where}: {error}'))
                continue
            records.append(record_of(claim, config, found, made))
    return records, waiting


def record_of(claim, config, found, made):
    """A claim as claims.json has it, judged by the runs of one of its configs."""
    full = config == claim.full_config
    needed = claim.scale_needed if not full or claim.scale_needed.startswith('None') else ''
    said = ('id', 'claim', 'source', 'ours', 'statistic', 'threshold', 'direction')
    return {
        **{name: getattr(claim, name) for name in said},
        **found,
        'command': made['command'],
        'scale': made['scale'],
        'config': config,
        'full_scale': full,
        'commit': ', '.join(made['commits']),
        'machine': made['machine'],
        'paper_value': claim.paper_value,
        'scale_needed': needed,
    }
