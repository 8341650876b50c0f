"""Digests of the files of a directory: whether they are what was written."""

import hashlib
import json

from contrastive_jax import storage

FILE = 'digests.json'
# What its writing leaves when it is cut short.
PART = 'digests.part'


def write(directory):
    """Writes the SHA-256 of every file below a directory (a `storage.path`) beside them."""
    digests = _digests(directory)
    storage.write(directory / FILE, (json.dumps(digests, indent=1) + '\n').encode())


def damage(directory):
    """What is wrong with the files of a directory, as the end of a sentence; None if nothing is."""
    path = directory / FILE
    try:
        written = json.loads(path.read_bytes())
    except FileNotFoundError:
        return 'has no digests: it was not written to its end'
    except (json.JSONDecodeError, UnicodeDecodeError):
        return f'has digests that cannot be read: {path}'
    found = _digests(directory)
    for name in sorted({*written, *found}):
        if name not in found:
            return f'lacks the file {name}'
        if name not in written:
            return f'has a file that was not written with it: {name}'
        if found[name] != written[name]:
            return f'has a file that changed after it was written: {name}'
    return None


def _digests(directory):
    digests = {}
    for name, path in storage.files_below(directory).items():
        if name not in (FILE, PART):
            with path.open('rb') as file:
                digests[name] = hashlib.file_digest(file, 'sha256').hexdigest()
    return digests
