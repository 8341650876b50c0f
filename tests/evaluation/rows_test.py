"""Embeddings of any kind come in whole, or are refused in a sentence."""

import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import rows


@pytest.mark.parametrize(
    ('given', 'sentence'),
    [
        (np.zeros(3), r'must be \[n, d\], got shape \(3,\)'),
        (np.zeros((3, 0)), r'must be \[n, d\], got shape \(3, 0\)'),
        (np.zeros((1, 2)), '1 rows; at least 2 are needed'),
        (np.array([['a', 'b']] * 2), 'must be numbers'),
        (
            np.array([[0.0, 1], [np.nan, 1], [np.inf, 1]]),
            '2 of 3 test embeddings .* row 1',
        ),
    ],
)
def test_embeddings_that_cannot_be_are_refused(given, sentence):
    with pytest.raises(BadInput, match=sentence):
        rows.checked_rows(given, 'test embeddings', least=2)


def test_half_precision_becomes_single_and_double_stays():
    for dtype in (jnp.float16, jnp.bfloat16, jnp.float32, jnp.int32):
        assert rows.checked_rows(jnp.ones((2, 3), dtype), 'rows').dtype == np.float32
    assert rows.checked_rows(np.ones((2, 3)), 'rows').dtype == np.float64


def test_labels_are_one_a_row_and_whole():
    assert rows.checked_labels([1.0, 2.0], 2, 'labels').dtype == np.int64
    assert rows.checked_labels(np.array([True, False]), 2, 'labels').tolist() == [1, 0]
    for wrong, sentence in (
        ([1, 2, 3], 'one a row'),
        ([0.5, 1], 'integers'),
        ('ab', 'one a row'),
    ):
        with pytest.raises(BadInput, match=sentence):
            rows.checked_labels(wrong, 2, 'labels')


def test_unit_length_of_any_size():
    found = rows.unit_length(np.array([[3, 4], [0, 0], [3e300, 4e300], [3e-300, 4e-300]]))
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0], [0.6, 0.8], [0.6, 0.8]], rtol=1e-15)
