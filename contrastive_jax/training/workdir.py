"""A run's directory: its config is written before step 0 and must agree ever after."""

import contextlib
import importlib.metadata
import json
import os
import platform
import subprocess
from pathlib import Path

import jax

from contrastive_jax import losses, names, storage
from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import protocols
from contrastive_jax.training import metrics_log

FILE = 'config.json'
LOSS = 'loss.name'
PACKAGES = ('jax', 'jaxlib', 'flax', 'optax', 'orbax-checkpoint', 'grain', 'numpy', 'scikit-learn')


def claim(workdir, config, overrides, allowed=()):
    """Makes the directory if need be and writes, or checks, its config.json.

    Args:
      workdir: a directory or gs://bucket/path.
      config: a ConfigDict.
      overrides: dict of dotted field to value: what differs from the config file.
      allowed: dotted fields that may differ from what the directory holds; config.json then has
        the new values, and the old ones in its list `changes`.

    Raises:
      BadInput: an allowed field that the config lacks; the directory cannot be written, holds the
        run of another config (the differing fields are named), or holds something that is no run.
    """
    path = storage.path(workdir) / FILE
    ours = plain(config)
    for field in allowed:
        names.check_field(config, field)
    with named_in_errors(workdir, BadInput):
        storage.make(path.parent)
        if path.exists():
            if changed := check_same(path, ours, allowed):
                record = json.loads(path.read_bytes())
                record['config'] = ours
                record['changes'] = [*record.get('changes', []), changed]
                write(record, path)
            return
        if storage.names_in(path.parent) - {path.with_suffix('.part').name}:
            raise BadInput(
                f'workdir {workdir} holds files but no {FILE}: it is not the directory of a run. '
                'Choose another.'
            )
        record = {
            'config': ours,
            'overrides': plain(overrides),
            'commit': commit(),
            'versions': versions(),
            'machine': machine(),
        }
        write(record, path)


def write(record, path):
    """Writes a record as JSON, whole or not at all."""
    storage.write(path, (json.dumps(record, indent=2) + '\n').encode())


@contextlib.contextmanager
def named_in_errors(workdir, kind, remedy=str):
    """Turns an error of the file system, or bucket, into one sentence of the given kind of error.

    Args:
      workdir: the directory of a run.
      kind: an exception that takes a sentence.
      remedy: gives another sentence to follow it, or ''.
    """
    try:
        yield
    except Exception as error:
        if not storage.is_failure(error):
            raise
        sentence = f'workdir {workdir} cannot be used: {storage.reason(error)}.'
        raise kind(f'{sentence} {remedy()}'.rstrip()) from error


def is_run(workdir):
    """Whether the directory is that of a run."""
    with named_in_errors(workdir, BadInput):
        return (storage.path(workdir) / FILE).exists()


def check_same(path, ours, allowed=()):
    """What the file's config has in place of our values of the `allowed` fields, as a dict.

    Raises:
      BadInput: another field differs; the message names those that do.
    """
    theirs = read_config(path.parent)
    before, now = flat(theirs), flat(ours)
    differing = [
        name
        for name in sorted({*before, *now})
        if before.get(name, 'absent') != now.get(name, 'absent')
        and not (name == LOSS and same_function(before.get(name), now.get(name)))
    ]
    if refused := [name for name in differing if name not in allowed]:
        shown = '; '.join(
            f'config.{name}: {before.get(name, "absent")!r} there, {now.get(name, "absent")!r} here'
            for name in refused
        )
        raise BadInput(
            f'workdir {path.parent} holds the run of another config ({shown}). Choose another '
            f'workdir, delete that one, or go on with --allow_change={",".join(refused)}.'
        )
    return {name: before.get(name, 'absent') for name in differing}


def same_function(there, here):
    """Whether two values of `config.loss.name` are the same function, by name or import path."""
    try:
        found = [names.pick_or_import(losses, name, LOSS) for name in (there, here)]
    except BadInput:
        return False
    return found[0] is found[1]


def read_config(workdir):
    """The config of a workdir as a plain dict."""
    path = storage.path(workdir) / FILE
    try:
        return json.loads(path.read_bytes())['config']
    except FileNotFoundError as error:
        raise BadInput(f'workdir {workdir} is not the directory of a run: no {FILE}.') from error
    except Exception as error:  # what lies there may be anything, and a bucket fails in any way
        raise BadInput(f'{path} cannot be read as the config of a run: {error!r}.') from error


def final_row(workdir):
    """The evaluation row of a finished run as a dict, or None while it is not finished."""
    if not is_run(workdir):
        return None
    config = read_config(workdir)
    score = protocols.score_of(config['evaluation']['name'])
    with named_in_errors(workdir, BadInput):
        rows = metrics_log.read(workdir)
    for row in reversed(rows):
        if row['step'] == config['num_steps'] and score in row:
            return row
    return None


def plain(config):
    """A config as what JSON would give back: tuples become lists, a loss its name or path."""
    tree = config.to_dict() if hasattr(config, 'to_dict') else config
    return json.loads(json.dumps(written(tree)))


def written(tree, prefix=''):
    """A nested dict with the function `config.loss.name`, if it is one, as what names it.

    Raises:
      BadInput: a function that another process could not import.
    """
    found = {}
    for name, value in tree.items():
        dotted = prefix + name
        if isinstance(value, dict):
            value = written(value, f'{dotted}.')
        elif callable(value) and dotted == LOSS:
            value = names.path_of(losses, value, LOSS)
        found[name] = value
    return found


def flat(tree, prefix=''):
    """A nested dict as one of dotted names."""
    found = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            found |= flat(value, f'{prefix}{name}.')
        else:
            found[prefix + name] = value
    return found


def commit():
    """The commit of the code that runs, with '-dirty' when it has changes; None outside git."""
    here = Path(__file__).parent
    try:
        found = subprocess.run(
            ['git', 'describe', '--always', '--dirty', '--abbrev=40', '--exclude=*'],
            cwd=here, capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()


def versions():
    """The versions of Python and of what computes."""
    found = {'python': platform.python_version()}
    for package in PACKAGES:
        found[package] = importlib.metadata.version(package)
    return found


def machine():
    """The devices here, in words; a run keeps those on which it was begun."""
    device = jax.devices()[0]
    if device.platform == 'cpu':
        return f'{os.cpu_count()} CPU cores, {platform.machine()}'
    return f'{jax.device_count()} x {device.device_kind}'
