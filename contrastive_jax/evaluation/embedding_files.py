"""Embeddings in a file: an npz that any framework can write, or the array alone as npy."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.rows import checked_labels, checked_rows

FACTOR = 'factor_'
# Arrays of a file beside its factors; `protocol` says in words how they were made.
READ = ('embeddings', 'projections', 'labels', 'ids', 'latents', 'protocol')


class Embeddings(NamedTuple):
    """What is known of n examples.

    Attributes:
      h: features [n, f].
      z: projections [n, d], or None.
      factors: dict of name to integers [n]; the class is `label`.
      ids: integers [n], or None.
      source: what they are, in words: the file, the split, the encoder.
      latents: real numbers [n, k] that the examples were made of, or None.
    """

    h: Any
    z: Any
    factors: dict
    ids: Any
    source: str
    latents: Any = None


def save(path, embeddings, protocol=''):
    """Writes `embeddings` as npz under the names that `load` reads, and `protocol` beside them.

    `labels` is the factor `label` again, under the name that other programs look for.

    Args:
      path: ends in .npz; a file that exists is not written over.
      embeddings: an `Embeddings`.
      protocol: how they were made, in words.

    Raises:
      BadInput: another ending, or the file exists.
    """
    path = check_output(path)
    fields = {'embeddings': embeddings.h, 'protocol': np.array(protocol)}
    if embeddings.z is not None:
        fields['projections'] = embeddings.z
    for name in ('ids', 'latents'):
        if getattr(embeddings, name) is not None:
            fields[name] = getattr(embeddings, name)
    fields |= {FACTOR + name: values for name, values in embeddings.factors.items()}
    if 'label' in embeddings.factors:
        fields['labels'] = embeddings.factors['label']
    beside = path.with_suffix('.part')
    with beside.open('wb') as file:
        np.savez(file, **fields)
    beside.replace(path)


def check_output(path):
    """The path, if embeddings can be written there; BadInput otherwise."""
    if '://' in str(path):
        raise BadInput(f'output is {str(path)!r}; embeddings are written to a directory.')
    path = Path(path)
    if path.suffix != '.npz':
        raise BadInput(f'output is {str(path)!r}; it must end in .npz.')
    if path.exists():
        raise BadInput(f'output {path} exists already; choose another.')
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def load(path):
    """The `Embeddings` of a file.

    Args:
      path: .npz with `embeddings` [n, f] and, if known, `projections` [n, d], `labels` [n],
        `factor_<name>` [n], `ids` [n] and `latents` [n, k]; or .npy, the embeddings alone.

    Raises:
      BadInput: no such file, none of that form, or values that cannot be; the field is named.
    """
    path = Path(path)
    try:
        file = np.load(path)
        fields = dict(file) if hasattr(file, 'files') else {'embeddings': file}
    except FileNotFoundError as error:
        raise BadInput(f'There is no file {path}.') from error
    except (ValueError, OSError, EOFError) as error:
        raise BadInput(
            f'{path} cannot be read as .npz or .npy: it is of another kind, damaged, or holds '
            'Python objects; numpy.savez of arrays of numbers writes what is read here.'
        ) from error
    if 'embeddings' not in fields:
        shown = ', '.join(sorted(fields)) or 'nothing'
        raise BadInput(f"{path} has no array 'embeddings', but: {shown}.")
    h = checked_rows(fields['embeddings'], f'embeddings of {path}')
    z, latents = (
        _rows_beside(h, fields.get(name), name, path) for name in ('projections', 'latents')
    )
    factors = {
        name.removeprefix(FACTOR): values
        for name, values in fields.items()
        if name.startswith(FACTOR)
    }
    if 'labels' in fields:
        factors = {'label': fields['labels'], **factors}
    factors = {
        name: checked_labels(values, len(h), f'{name} of {path}')
        for name, values in factors.items()
    }
    ids = fields.get('ids')
    if ids is not None:
        ids = checked_labels(ids, len(h), f'ids of {path}')
    unread = sorted(set(fields) - {*READ, *(FACTOR + name for name in factors)})
    source = f'{path} (not read: {", ".join(unread)})' if unread else str(path)
    return Embeddings(h, z, factors, ids, source, latents)


def _rows_beside(h, rows, name, path):
    """Other rows of the same examples, checked; or None."""
    if rows is None:
        return None
    rows = checked_rows(rows, f'{name} of {path}')
    if len(rows) != len(h):
        raise BadInput(f'{path} has {len(h)} embeddings and {len(rows)} {name}.')
    return rows
