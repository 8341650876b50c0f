"""Digests of the files of a directory: whether they are what was written."""

import hashlib
import json

FILE = 'digests.json'


def write(directory):
    """Writes the SHA-256 of every file below a directory (a path) beside them, and syncs it."""
    digests = _digests(directory)
    beside = directory / f'{FILE}.part'
    beside.write_text(json.dumps(digests, indent=1) + '\n', encoding='utf-8')
    beside.replace(directory / FILE)


def damage(directory):
    """What is wrong with the files of a directory, as the end of a sentence; None if nothing is."""
    path = directory / FILE
    try:
        written = json.loads(path.read_text(encoding='utf-8'))
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
    for path in sorted(directory.rglob('*')):
        name = str(path.relative_to(directory))
        if path.is_file() and name not in (FILE, f'{FILE}.part'):
            with path.open('rb') as file:
                digests[name] = hashlib.file_digest(file, 'sha256').hexdigest()
    return digests
