"""The cache: kept by fingerprint, made again when damaged, never in the way."""

import numpy as np
import pytest

from contrastive_jax.data import cache


@pytest.fixture(autouse=True)
def own_directory(tmp_path, monkeypatch):
    monkeypatch.setenv('CONTRASTIVE_JAX_CACHE', str(tmp_path / 'cache'))


def counted():
    calls = []

    def make():
        calls.append(1)
        return {'x': np.arange(5)}

    return calls, make


def test_the_second_call_reads_what_the_first_made():
    calls, make = counted()
    first = cache.load_or_make('set', 'a', make)
    second = cache.load_or_make('set', 'a', make)
    assert len(calls) == 1
    np.testing.assert_array_equal(first['x'], second['x'])


def test_another_fingerprint_is_other_data():
    calls, make = counted()
    cache.load_or_make('set', 'a', make)
    cache.load_or_make('set', 'b', make)
    assert len(calls) == 2


def test_a_damaged_file_is_made_again_and_named():
    calls, make = counted()
    cache.load_or_make('set', 'a', make)
    (path,) = cache.directory().glob('*.npz')
    path.write_bytes(path.read_bytes()[:40])
    with pytest.warns(UserWarning, match=path.name):
        kept = cache.load_or_make('set', 'a', make)
    np.testing.assert_array_equal(kept['x'], np.arange(5))
    assert len(calls) == 2


def test_an_unwritable_directory_costs_a_warning(tmp_path, monkeypatch):
    (tmp_path / 'file').write_text('in the way')
    monkeypatch.setenv('CONTRASTIVE_JAX_CACHE', str(tmp_path / 'file' / 'below'))
    _, make = counted()
    with pytest.warns(UserWarning, match='nothing is kept'):
        kept = cache.load_or_make('set', 'a', make)
    np.testing.assert_array_equal(kept['x'], np.arange(5))


def test_nothing_but_the_file_is_left():
    _, make = counted()
    cache.load_or_make('set', 'a', make)
    assert len(list(cache.directory().iterdir())) == 1
