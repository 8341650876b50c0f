"""A bucket holds what a directory would; it is imitated here, and no other was ever asked."""

import itertools
import sys

import pytest

from contrastive_jax import storage
from contrastive_jax.errors import BadInput
from tests.fake_bucket import FakeBuckets

NUMBERS = itertools.count()


@pytest.fixture(scope='module')
def buckets():
    with FakeBuckets() as buckets:
        yield buckets


@pytest.fixture(params=['directory', 'bucket'])
def home(request, tmp_path, monkeypatch):
    """An empty place."""
    if request.param == 'directory':
        return storage.path(tmp_path / 'some' / 'run')
    buckets = request.getfixturevalue('buckets')
    return storage.path(in_new_bucket(buckets, monkeypatch))


def in_new_bucket(buckets, monkeypatch):
    """A place in a bucket that this process does not know yet."""
    for name, value in buckets.environment.items():
        monkeypatch.setenv(name, value)
    name = f'stored{next(NUMBERS)}'
    buckets.make(name)
    return f'gs://{name}/some/run'


def test_what_is_written_is_read_and_replaced(home):
    storage.make(home)
    assert storage.names_in(home) == set()
    assert not (home / 'one.json').exists()
    for content in (b'first', b'', bytes(range(256)) * 50_000, b'--==0==--\n\nlast\n'):
        storage.write(home / 'one.json', content)
        assert (home / 'one.json').read_bytes() == content
    assert (home / 'one.json').exists()
    assert storage.names_in(home) == {'one.json'}


def test_files_are_found_however_deep_and_moved(home):
    names = {'a', 'b.txt', *(f'deep/{index}' for index in range(7)), 'deep/er/c=0,d=1'}
    for name in names:
        storage.make((home / 'all' / name).parent)
        storage.write(home / 'all' / name, name.encode())
    storage.write(home / 'all2', b'of another name')
    assert storage.names_in(home / 'all') == {'a', 'b.txt', 'deep'}
    assert list(storage.files_below(home / 'all')) == sorted(names)
    storage.move(home / 'all', home / 'away' / 'all')
    assert storage.names_in(home) == {'away', 'all2'}
    moved = storage.files_below(home / 'away' / 'all')
    assert {name: path.read_bytes() for name, path in moved.items()} == {
        name: name.encode() for name in names
    }
    assert str(moved['a']) == str(home / 'away' / 'all' / 'a')


def test_what_another_process_writes_is_seen(buckets, monkeypatch):
    home = storage.path(in_new_bucket(buckets, monkeypatch))
    assert storage.names_in(home) == set()
    storage.write(home / 'mine', b'')
    assert storage.names_in(home) == {'mine'}
    buckets.write(home.parts[2], 'some/run/theirs', b'more')
    assert storage.names_in(home) == {'mine', 'theirs'}
    assert (home / 'theirs').read_bytes() == b'more'


def test_an_object_that_stands_for_a_folder_is_no_file(buckets, monkeypatch):
    home = storage.path(in_new_bucket(buckets, monkeypatch))
    buckets.write(home.parts[2], 'some/run/', b'')
    assert storage.names_in(home) == set()
    assert storage.files_below(home) == {}


def test_a_bucket_that_is_not_there_or_may_not_be_read_is_one_sentence(buckets, monkeypatch):
    place = in_new_bucket(buckets, monkeypatch)
    with pytest.raises(BadInput, match='There is no bucket gs://another: gcloud storage buckets'):
        storage.path('gs://another/run')
    monkeypatch.setattr(buckets, 'refuse', lambda method, bucket, name: 403)
    with pytest.raises(BadInput, match='may not be read .* storage.legacyBucketReader'):
        storage.path(place)


def test_without_gcsfs_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, 'gcsfs', None)
    with pytest.raises(BadInput, match=r'needs the package gcsfs .* pip install -e ".\[tpu\]"'):
        storage.path('gs://any/run')


def test_what_a_bucket_raises_is_a_failure_and_what_the_code_raises_is_not(buckets, monkeypatch):
    home = storage.path(in_new_bucket(buckets, monkeypatch))
    monkeypatch.setattr(buckets, 'refuse', lambda method, bucket, name: 403)
    with pytest.raises(Exception, match='Forbidden') as raised:
        storage.write(home / 'one', b'')
    assert storage.is_failure(raised.value)
    assert '\n' not in storage.reason(raised.value)
    monkeypatch.setattr(buckets, 'refuse', lambda method, bucket, name: 401)
    with pytest.raises(Exception, match='401') as raised:
        storage.write(home / 'one', b'')
    assert not isinstance(raised.value, OSError)
    assert storage.is_failure(raised.value)
    for error in (ValueError(), KeyError(), BadInput()):
        assert not storage.is_failure(error)


def test_another_kind_of_place_is_refused():
    with pytest.raises(BadInput, match="'s3://bucket/run' is neither a directory nor in a bucket"):
        storage.path('s3://bucket/run')
