"""Embeddings go into a file and come back; files of others are read, or refused in a sentence."""

import numpy as np
import pytest

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.embedding_files import Embeddings, load, save

ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_what_is_saved_comes_back(tmp_path):
    factors = {'label': np.arange(4), 'code': np.array([1, 0, 1, 0])}
    given = Embeddings(
        ROWS, ROWS[:, :2], factors, np.array([7, 5, 3, 1]), 'a test', ROWS[:, 1:] / 2
    )
    path = tmp_path / 'deep' / 'one.npz'
    save(path, given, 'test split, nothing drawn')
    found = load(path)
    for name in ('h', 'z', 'ids', 'latents'):
        np.testing.assert_array_equal(getattr(found, name), getattr(given, name))
    assert list(found.factors) == ['label', 'code']
    np.testing.assert_array_equal(found.factors['code'], factors['code'])
    assert str(np.load(path)['protocol']) == 'test split, nothing drawn'
    with pytest.raises(BadInput, match='exists already'):
        save(path, given)
    assert [file.name for file in path.parent.iterdir()] == ['one.npz']


def test_files_of_other_programs(tmp_path):
    np.save(tmp_path / 'rows.npy', ROWS.astype(np.float16))
    found = load(tmp_path / 'rows.npy')
    assert (found.h.dtype, found.z, found.factors, found.ids) == (np.float32, None, {}, None)
    assert found.latents is None
    np.savez(tmp_path / 'rows.npz', embeddings=ROWS, labels=np.arange(4.0))
    assert load(tmp_path / 'rows.npz').factors['label'].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ('fields', 'sentence'),
    [
        (dict(features=ROWS), "no array 'embeddings', but: features"),
        (dict(embeddings=ROWS[0]), r'must be \[n, d\], got shape'),
        (
            dict(embeddings=ROWS, labels=np.arange(3)),
            r'label of .*one a row, \[4\]',
        ),
        (dict(embeddings=ROWS, projections=ROWS[:2]), '4 embeddings and 2 projections'),
        (dict(embeddings=ROWS, latents=ROWS[:3]), '4 embeddings and 3 latents'),
        (dict(embeddings=np.where(ROWS == 5, np.nan, ROWS)), '1 of 4 embeddings of .*row 1'),
        (dict(embeddings=ROWS, factor_x=ROWS[:, 0] + 0.5), 'x of .* must be integers'),
    ],
)
def test_files_that_cannot_be_are_refused(tmp_path, fields, sentence):
    np.savez(tmp_path / 'bad.npz', **fields)
    with pytest.raises(BadInput, match=sentence):
        load(tmp_path / 'bad.npz')


def test_arrays_that_are_not_read_are_named(tmp_path):
    np.savez(tmp_path / 'rows.npz', embeddings=ROWS, label=np.arange(4), factor_x=np.arange(4))
    assert load(tmp_path / 'rows.npz').source == f'{tmp_path / "rows.npz"} (not read: label)'


def test_what_is_no_file_of_arrays_is_refused(tmp_path):
    with pytest.raises(BadInput, match='There is no file'):
        load(tmp_path / 'none.npz')
    (tmp_path / 'text.npz').write_text('hello')
    with pytest.raises(BadInput, match=r'cannot be read as \.npz'):
        load(tmp_path / 'text.npz')
    with pytest.raises(BadInput, match=r'must end in \.npz'):
        save(tmp_path / 'one.npy', Embeddings(ROWS, None, {}, None, ''))
