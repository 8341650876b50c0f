"""Where runs are kept: a directory, or a place in a Google Cloud Storage bucket, gs://bucket/path.

A bucket has objects alone, each written whole or not at all: no folders, no appending, and no
renaming of many at once. Nothing else in this library knows of it.
"""

import functools
import importlib
import logging
import os
from pathlib import Path

from contrastive_jax.errors import BadInput

BUCKET = 'gs://'

# How long a bucket may take to answer for the first time.
ANSWER_SECONDS = 30

# The packages that speak to a bucket; their errors are not all of OSError.
CLIENTS = ('aiohttp', 'fsspec', 'gcsfs', 'google', 'requests')


def path(place):
    """A directory or a place in a bucket as a path.

    Args:
      place: text or a path; what begins with gs:// is in a bucket.

    Returns:
      A `pathlib.Path`, or an `epath.Path`, which has the same methods.

    Raises:
      BadInput: a place of another kind, or a bucket that is not there or cannot be reached.
    """
    text = os.fspath(place)
    if in_bucket(text):
        _reach(text.removeprefix(BUCKET).partition('/')[0])
        from etils import epath

        return epath.Path(text)
    if '://' in text:
        raise BadInput(f'{text!r} is neither a directory nor in a bucket, {BUCKET}bucket/path.')
    return Path(text)


def in_bucket(place):
    """Whether a text or path is in a bucket."""
    return os.fspath(place).startswith(BUCKET)


def write(file, content):
    """Writes bytes to a file of `path`, whole or not at all."""
    if in_bucket(file):
        _bucket_files().pipe_file(str(file), content)
        return
    beside = file.with_suffix('.part')
    beside.write_bytes(content)
    beside.replace(file)


def make(directory):
    """Makes a directory of `path` and those above it, where there is such a thing."""
    if not in_bucket(directory):
        directory.mkdir(parents=True, exist_ok=True)


def names_in(directory):
    """The names right below a directory of `path`, as a set; none where it is not there."""
    try:
        names = {each.name for each in directory.iterdir()}
    except FileNotFoundError:
        return set()
    # The console of a bucket makes an empty object of the directory's own name, for a folder.
    return names - {directory.name} if in_bucket(directory) else names


def files_below(directory):
    """Every file below a directory of `path`, however deep: {name relative to it: path}."""
    if in_bucket(directory):
        above = str(directory).removeprefix(BUCKET) + '/'
        found = _bucket_files().find(str(directory))
        names = [name.removeprefix(above) for name in found if not name.endswith('/')]
    else:
        found = [file for file in directory.rglob('*') if file.is_file()]
        names = [str(file.relative_to(directory)) for file in found]
    return {name: directory / name for name in sorted(names)}


def move(source, target):
    """Moves a directory of `path` to a place that is free; in a bucket, one file after another."""
    if in_bucket(source):
        _bucket_files().mv(str(source), str(target), recursive=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)


def is_failure(error):
    """Whether an exception says that a directory or bucket failed, and not the code."""
    return isinstance(error, OSError) or type(error).__module__.partition('.')[0] in CLIENTS


def reason(error):
    """What an exception says, in one line."""
    return ' '.join(str(error).split()) or type(error).__name__


@functools.cache
def _bucket_files():
    """The file system of all buckets, for every thread."""
    import fsspec

    return fsspec.filesystem('gcs', finalize_on_close=True)


@functools.cache
def _reach(bucket):
    """Prepares this process for buckets, and raises BadInput unless this one answers."""
    # Two ways that the tests do not go: `epath` by TensorFlow, where it is installed, and gcsfs by
    # gRPC, for buckets of the kind `Rapid`.
    os.environ.setdefault('EPATH_USE_TF', 'false')
    os.environ.setdefault('GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT', 'false')
    try:
        config = importlib.import_module('fsspec').config
        importlib.import_module('gcsfs')
        client = importlib.import_module('google.cloud.storage')
    except ImportError as error:
        raise BadInput(
            f'{BUCKET}{bucket} is a bucket, which needs the package gcsfs ({error}): '
            'pip install -e ".[tpu]".'
        ) from error
    # Listings that are remembered lack what other processes write, and TensorStore in this one.
    config.conf.setdefault('gcs', {})['use_listings_cache'] = False
    # What fails is raised, and told once.
    logging.getLogger('gcsfs').setLevel(logging.CRITICAL)
    try:
        # Orbax asks the same, to learn of what kind the bucket is.
        again = client.retry.DEFAULT_RETRY.with_timeout(ANSWER_SECONDS)
        client.Client().get_bucket(bucket, timeout=ANSWER_SECONDS, retry=again)
    except Exception as error:  # of the network, of credentials, of the client: any type
        raise BadInput(_why_not(bucket, error)) from error


def _why_not(bucket, error):
    """A sentence on a bucket that did not answer as it should."""
    code = getattr(error, 'code', None)
    if code == 404:
        return f'There is no bucket {BUCKET}{bucket}: gcloud storage buckets create makes one.'
    if code in (401, 403):
        return (
            f'The bucket {BUCKET}{bucket} may not be read ({reason(error)}): who runs this needs '
            'the roles storage.objectAdmin and storage.legacyBucketReader of it.'
        )
    return f'The bucket {BUCKET}{bucket} cannot be reached: {reason(error)}.'
