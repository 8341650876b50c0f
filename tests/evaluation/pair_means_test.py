"""The error of a mean over pairs is that of the leave-one-out means."""

import numpy as np

from contrastive_jax.evaluation.pair_means import pair_mean, with_interval


def test_error_is_near_the_jackknife():
    """To order 1/n, also where rows have different numbers of pairs."""
    rng = np.random.default_rng(0)
    count = 200
    kept = rng.uniform(size=(count, count)) < rng.uniform(0.2, 1, count)[:, None]
    kept = np.triu(kept, 1) | np.triu(kept, 1).T
    values = rng.normal(size=count)
    matrix = (values[:, None] * values[None] + values[:, None] + values[None]) * kept
    mean, error = pair_mean(matrix.sum(axis=1), kept.sum(axis=1))
    np.testing.assert_allclose(mean, matrix.sum() / kept.sum())
    left_out = np.array(
        [
            np.delete(np.delete(matrix, i, 0), i, 1).sum()
            / np.delete(np.delete(kept, i, 0), i, 1).sum()
            for i in range(count)
        ]
    )
    jackknife = np.sqrt((count - 1) / count * np.sum((left_out - left_out.mean()) ** 2))
    np.testing.assert_allclose(error, jackknife, rtol=0.03)


def test_rows_that_agree_have_no_error():
    assert pair_mean(np.full(4, 6.0), np.full(4, 3.0)) == (2.0, 0.0)
    assert with_interval('x', 2.0, 0.0) == {'x': 2.0, 'x_low': 2.0, 'x_high': 2.0}
