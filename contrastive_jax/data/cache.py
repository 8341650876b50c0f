"""Decoded arrays on disk, under ~/.cache/contrastive_jax or $CONTRASTIVE_JAX_CACHE."""

import hashlib
import os
import tempfile
import warnings
from pathlib import Path

import numpy as np


def directory():
    """Where cached files lie."""
    home = os.environ.get('CONTRASTIVE_JAX_CACHE')
    return Path(home) if home else Path.home() / '.cache' / 'contrastive_jax'


def load_or_make(name, fingerprint, make):
    """The arrays of an earlier call with the same fingerprint, or those of `make()`, kept.

    Args:
      name: a readable prefix of the file's name.
      fingerprint: a text that changes whenever the data would.
      make: called without arguments for a dict of arrays when nothing usable is kept.

    Returns:
      A dict of arrays. A damaged file is made again; a directory that cannot be written to costs
      a warning and the time of `make` at each call.
    """
    digest = hashlib.sha256(fingerprint.encode()).hexdigest()[:16]
    path = directory() / f'{name}_{digest}.npz'
    try:
        with np.load(path) as kept:
            return dict(kept)
    except OSError:
        pass  # not there, or not readable: then writing it says why
    except Exception as error:  # np.load raises many kinds on a damaged file
        warnings.warn(f'{path} is damaged ({error}) and is made again.', stacklevel=2)
    arrays = make()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written beside and renamed, so that no other process ever reads half a file.
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix='.npz', delete=False) as file:
            temporary = Path(file.name)
            try:
                np.savez(file, **arrays)
                file.close()
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
    except OSError as error:
        warnings.warn(f'{path} could not be written ({error}); nothing is kept.', stacklevel=2)
    return arrays
