"""A run's directory: its config is written before step 0 and must agree ever after."""

import contextlib
import importlib.metadata
import json
import platform
import subprocess
from pathlib import Path

from contrastive_jax import losses, names
from contrastive_jax.errors import BadInput
from contrastive_jax.training import metrics_log

FILE = 'config.json'
LOSS = 'loss.name'
PACKAGES = ('jax', 'jaxlib', 'flax', 'optax', 'orbax-checkpoint', 'grain', 'numpy', 'scikit-learn')


def claim(workdir, config, overrides, allowed=()):
    """Makes the directory if need be and writes, or checks, its config.json.

    Args:
      workdir: a path.
      config: a ConfigDict.
      overrides: dict of dotted field to value: what differs from the config file.
      allowed: dotted fields that may differ from what the directory holds; config.json then has
        the new values, and the old ones in its list `changes`.

    Raises:
      BadInput: an allowed field that the config lacks; the directory cannot be written, holds the
        run of another config (the differing fields are named), or holds something that is no run.
    """
    if '://' in str(workdir):
        raise BadInput(
            f'workdir is {str(workdir)!r}; runs are kept in a directory of this machine or of a '
            'file system that is mounted here, not yet in a bucket.'
        )
    path = Path(workdir) / FILE
    ours = plain(config)
    for field in allowed:
        names.check_field(config, field)
    with named_in_errors(workdir, BadInput):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix('.part')
        if path.exists():
            if changed := check_same(path, ours, allowed):
                record = json.loads(path.read_text(encoding='utf-8'))
                record['config'] = ours
                record['changes'] = [*record.get('changes', []), changed]
                write(record, beside, path)
            return
        if set(path.parent.iterdir()) - {beside}:
            raise BadInput(
                f'workdir {workdir} holds files but no {FILE}: it is not the directory of a run. '
                'Choose another.'
            )
        record = {
            'config': ours,
            'overrides': plain(overrides),
            'commit': commit(),
            'versions': versions(),
        }
        write(record, beside, path)


def write(record, beside, path):
    """Writes a record as JSON, whole or not at all."""
    beside.write_text(json.dumps(record, indent=2) + '\n', encoding='utf-8')
    beside.replace(path)


@contextlib.contextmanager
def named_in_errors(workdir, kind):
    """Turns an error of the file system into one sentence of the given kind of error."""
    try:
        yield
    except OSError as error:
        raise kind(f'workdir {workdir} cannot be used: {error}.') from error


def is_run(workdir):
    """Whether the directory is that of a run."""
    with named_in_errors(workdir, BadInput):
        return (Path(workdir) / FILE).exists()


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
    path = Path(workdir) / FILE
    try:
        return json.loads(path.read_text(encoding='utf-8'))['config']
    except FileNotFoundError as error:
        raise BadInput(f'workdir {workdir} is not the directory of a run: no {FILE}.') from error
    except (json.JSONDecodeError, KeyError, TypeError, OSError) as error:
        raise BadInput(f'{path} cannot be read as the config of a run: {error!r}.') from error


def final_row(workdir):
    """The evaluation row of a finished run as a dict, or None while it is not finished."""
    if not is_run(workdir):
        return None
    num_steps = read_config(workdir)['num_steps']
    for row in reversed(metrics_log.read(workdir)):
        if row['step'] == num_steps and 'test_accuracy' in row:
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
