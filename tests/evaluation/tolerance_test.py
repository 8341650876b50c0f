"""Tolerance: cosines of one class, by a double loop, and as the paper prints it."""

import numpy as np
import pytest
from scipy import stats

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import tolerance, tolerance_as_printed, tolerance_interval


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def pairs(z, labels):
    """Cosine and equality of labels of all ordered pairs i != j."""
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    rows = range(len(z))
    return np.array(
        [(unit[i] @ unit[j], labels[i] == labels[j]) for i in rows for j in rows if i != j]
    ).T


def test_both_forms_by_a_double_loop():
    z, labels = draw(0, 17, 4), np.array([5, -1, 7] * 5 + [5, 100])
    cosine, same = pairs(z, labels)
    np.testing.assert_allclose(tolerance(z, labels), cosine[same == 1].mean())
    np.testing.assert_allclose(tolerance_as_printed(z, labels), np.mean(cosine * same))


def test_closed_forms():
    """A tight class 1, orthogonal rows 0, a simplex -1 / (n - 1); self pairs do not count."""
    np.testing.assert_allclose(tolerance(np.ones((4, 3)), [0, 0, 1, 1]), 1)
    np.testing.assert_allclose(tolerance(np.eye(4), [0, 0, 1, 1]), 0, atol=1e-15)
    np.testing.assert_allclose(tolerance(np.eye(5) - 0.2, [3] * 5), -0.25)
    assert tolerance(np.zeros((3, 2)), [1, 1, 1]) == 0


def test_printed_form_is_at_most_the_share_of_equal_labels():
    """Ten even classes, each a point: 1 against (n/10 - 1) / (n - 1), just below a tenth."""
    labels = np.arange(50) % 10
    z = np.eye(10)[labels]
    np.testing.assert_allclose(tolerance(z, labels), 1)
    np.testing.assert_allclose(tolerance_as_printed(z, labels), 4 / 49)


def test_order_of_rows_and_names_of_labels_do_not_matter():
    z, labels = draw(1, 20, 3), np.arange(20) % 3
    order = np.random.default_rng(2).permutation(20)
    value = tolerance(z, labels)
    np.testing.assert_allclose(tolerance(z[order], 1000 - labels[order].astype(float)), value)


def test_interval_covers_the_truth_as_often_as_it_says():
    """Classes at the corners of a triangle in noise; the truth from 40,000 rows."""
    corners = np.eye(3) * 1.5

    def sample(seed, count):
        labels = np.random.default_rng([seed, 1]).integers(0, 3, count)
        return corners[labels] + draw(seed, count, 3), labels

    truth = tolerance(*sample(0, 40_000))
    covered = 0
    for seed in range(1, 401):
        found = tolerance_interval(*sample(seed, 100))
        covered += found['tolerance_low'] < truth < found['tolerance_high']
    low, high = stats.binom.interval(0.999, 400, 0.95)
    assert low - 8 <= covered <= high  # a hundred rows are few for a normal interval


def test_bad_input():
    with pytest.raises(BadInput, match='3 classes of one row each; two rows'):
        tolerance(np.ones((3, 2)), [0, 1, 2])
    with pytest.raises(BadInput, match='labels must be one a row'):
        tolerance(np.ones((3, 2)), [0, 1])
    with pytest.raises(BadInput, match='at least 2'):
        tolerance_as_printed(np.ones((1, 2)), [0])
    with pytest.raises(BadInput, match='not finite'):
        tolerance_interval(np.array([[np.nan], [1.0]]), [0, 0])
