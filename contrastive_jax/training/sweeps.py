"""Sweeps: a config run at several points, with one table and one figure."""

import functools
import itertools

from contrastive_jax import names, reporting, storage
from contrastive_jax.errors import BadInput, RunFailed
from contrastive_jax.evaluation import protocols
from contrastive_jax.training import hosts, loop, sections
from contrastive_jax.training import workdir as workdirs
from contrastive_jax.training.build import build, check_fields


def points(own, axes, seeds):
    """The points of a sweep as a list of {dotted field: value}.

    Args:
      own: the config's own points; used when no axis is given.
      axes: dict of dotted field to values, whose product replaces the config's points.
      seeds: values of `seed` for every point, or None to keep what the points say.

    Returns:
      A list of points, none twice, the seed varying slowest, so that a first picture is there
      early.

    Raises:
      BadInput: nothing to sweep.
    """
    if axes:
        own = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    if seeds is not None:
        if 'seed' in axes:
            raise BadInput('The seeds are given twice, by --axis seed and by --seeds.')
        unique = []
        for point in own or [{}]:
            rest = {name: value for name, value in point.items() if name != 'seed'}
            if rest not in unique:
                unique.append(rest)
        own = [{**point, 'seed': seed} for seed in seeds for point in unique]
    if not own:
        raise BadInput('The config has no sweep(): give --axis field=value,value or --seeds=0,1.')
    return list({directory_of(point): point for point in own}.values())


def config_at(config, point):
    """A copy of a config with a point's values.

    Args:
      config: a ConfigDict.
      point: {dotted field: value}, or {section: text}, which replaces the section whole, as in
        {'loss': 'nt_xent,temperature=0.2', 'memory': ''}; see `sections.replace`.

    Raises:
      BadInput: a field that the config lacks, or a value of another type.
    """
    changed = config.copy_and_resolve_references()
    changed.lock()
    for name, value in point.items():
        if name in (*sections.REPLACEABLE, *sections.OPTIONAL) and isinstance(value, str):
            sections.replace(changed, name, value)
            continue
        names.check_field(changed, name)
        try:
            changed.update_from_flattened_dict({name: value})
        except (TypeError, ValueError) as error:
            reason = ' '.join(str(error).strip('"').split())
            raise BadInput(f'config.{name} cannot be {value!r}: {reason}') from error
    return changed


def run(config, points, root, figure, overrides=None):
    """Runs every point in a directory of its own, then writes results.csv and figure.png.

    Finished points are read, the interrupted one is continued. All points are checked, and their
    directories claimed, before the first one trains. Several processes run each point together, as
    `loop.train`; the first one prints and writes.

    Args:
      config: a ConfigDict.
      points: list of {dotted field: value}.
      root: the directory of the sweep, or gs://bucket/path.
      figure: see `reporting.draw_sweep`; {} for the score against the first axis.
      overrides: what the user changed for all points, recorded beside each config.

    Returns:
      The points that failed, as a list of directory names.

    Raises:
      BadInput: a point that cannot be, or a directory that holds another run.
      RunFailed: of several processes this one failed, as `hosts.ProcessLost`.
    """
    hosts.check_joined()
    hosts.check_same([str(root), workdirs.plain(config), points], 'The sweep')
    say = functools.partial(print, flush=True) if hosts.is_first() else loop.silent
    root, axes, runs = storage.path(root), list(points[0]), {}
    score = score_of(config, points)
    for point in points:
        if set(point) != set(axes):
            raise BadInput(
                f'The points of a sweep have different fields: {axes} and {list(point)}.'
            )
        runs[directory_of(point)] = (point, config_at(config, point))
    distinct = []  # but for the seed, which changes neither shapes nor options
    for name, (point, at_point) in runs.items():
        check_fields(at_point)
        rest = {field: value for field, value in point.items() if field != 'seed'}
        if rest not in distinct:
            distinct.append(rest)
            hosts.together(build, at_point)
        claim = (workdirs.claim, root / name, at_point, {**(overrides or {}), **point})
        hosts.on_first(*claim)
    rows, failed = [], []
    say(f'{len(runs)} runs in {root}\n{reporting.table_header(axes, score)}')
    for name, (point, at_point) in runs.items():
        workdir = root / name
        try:
            final = loop.train(at_point, workdir, {**(overrides or {}), **point}, quiet=True)
        except hosts.ProcessLost:
            raise  # the others do not know of it
        except RunFailed as error:
            failed.append(name)
            say(f'{name} failed: {error}')
            continue
        rows.append(row_of(final, point, at_point, workdir))
        say(reporting.table_row(rows[-1], axes, score))
        if hosts.is_first():
            with workdirs.named_in_errors(root, RunFailed):
                reporting.write_csv(root / 'results.csv', rows, axes, score)
    if rows and hosts.is_first():
        drawn = root / 'figure.png'
        with workdirs.named_in_errors(root, RunFailed):
            reporting.draw_sweep(drawn, rows, axes, figure_for(axes, figure, score, rows))
        say(f'wrote {root / "results.csv"} and {drawn}')
    return failed


def run_point(config, points, index, root, overrides=None):
    """Runs one point in its directory, as `run` does, and writes nothing beside it.

    So several machines may run points of one root at the same time; `run` gathers them afterwards.

    Args:
      config: a ConfigDict.
      points: list of {dotted field: value}.
      index: which of them, from 0.
      root: as for `run`.
      overrides: what the user changed for all points, recorded beside each config.

    Returns:
      The final row of the run, as `loop.train`.

    Raises:
      BadInput: there is no such point, it cannot be, or its directory holds another run.
      RunFailed, Preempted: as `loop.train`.
    """
    if not 0 <= index < len(points):
        raise BadInput(
            f'--point is {index}; this sweep has {len(points)} points, 0 to {len(points) - 1}.'
        )
    point = points[index]
    workdir = storage.path(root) / directory_of(point)
    return loop.train(config_at(config, point), workdir, {**(overrides or {}), **point})


def directory_of(point):
    """A name that does not depend on the order of the fields, the seed last."""
    fields = sorted(point, key=lambda field: (field == 'seed', field))
    return ','.join(f'{field}={point[field]}' for field in fields)


def row_of(final, point, config, workdir):
    """A finished run as a row of results.csv."""
    metrics = {name: value for name, value in final.items() if name != 'step'}
    return {
        'seed': config.seed,
        **point,
        **metrics,
        'steps': final['step'],
        'workdir': str(workdir),
    }


def score_of(config, points):
    """The name of the score of all points; BadInput where they have several."""
    sections_there = [config_at(config, point).get('evaluation', {}) for point in points]
    named = {section.get('name', '') for section in sections_there}  # `check_fields` tells of ''
    scores = sorted({protocols.score_of(name) for name in named})
    if len(scores) > 1:
        raise BadInput(
            f'The points of a sweep have different scores: {" and ".join(scores)}, by '
            f'evaluation.name of {", ".join(sorted(named))}.'
        )
    return scores[0]


def figure_for(axes, figure, score, rows):
    """The config's figure when it fits the axes and rows, or the score against the first axis."""
    if figure and figure['x'] in axes and all(figure['y'] in row for row in rows):
        return figure
    x = next((axis for axis in axes if axis != 'seed'), 'seed')
    return {'x': x, 'y': score, 'chance': figure.get('chance')}
