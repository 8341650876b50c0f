"""The largest entries of a row against a stable sort."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.losses import selection

largest = jax.jit(selection.largest)
RANDOM = np.random.default_rng(0)
ROWS = {
    'distinct': RANDOM.standard_normal((5, 40)),
    'many ties': RANDOM.integers(-2, 3, (5, 40)),
    'all equal': np.full((5, 40), 0.1),
    'every magnitude': RANDOM.standard_normal((5, 40)) * 10.0 ** RANDOM.integers(-37, 38, (5, 40)),
    'neighbouring numbers': 1 + RANDOM.integers(0, 4, (5, 40)) * np.finfo(np.float32).eps,
    'zeros of both signs': np.where(RANDOM.random((5, 40)) < 0.5, 0.0, -0.0),
    'left out': np.where(np.arange(40) % 4 == np.arange(5)[:, None] % 4, -np.inf, 1.0),
}


@pytest.mark.parametrize('name', ROWS)
def test_largest_is_the_head_of_a_stable_sort(name):
    rows = ROWS[name].astype(np.float32)
    order = np.argsort(-rows, axis=1, kind='stable')
    for count in (0, 1, 7, 29, 30) if name == 'left out' else (0, 1, 7, 39, 40):
        expected = np.zeros(rows.shape, bool)
        np.put_along_axis(expected, order[:, :count], True, axis=1)
        np.testing.assert_array_equal(largest(rows, jnp.int32(count)), expected)


def test_rows_with_and_without_ties_side_by_side():
    rows = np.stack([np.arange(6.0), np.ones(6), np.arange(6.0)[::-1]]).astype(np.float32)
    expected = [[0, 0, 0, 0, 1, 1], [1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0]]
    np.testing.assert_array_equal(largest(rows, 2), np.array(expected, bool))


def test_a_row_with_nan_ends():
    rows = np.array([[1.0, np.nan, 3.0], [1.0, 2.0, 3.0]], np.float32)
    np.testing.assert_array_equal(largest(rows, 1)[1], [False, False, True])
