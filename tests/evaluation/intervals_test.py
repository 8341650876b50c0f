"""Intervals against SciPy's."""

import pytest
from scipy import stats

from contrastive_jax.evaluation.intervals import t_interval, wilson


@pytest.mark.parametrize(('correct', 'total'), [(0, 10), (10, 10), (1, 1), (937, 1000), (5, 17)])
def test_agrees_with_scipy(correct, total):
    expected = stats.binomtest(correct, total).proportion_ci(method='wilson')
    low, high = wilson(correct, total)
    assert low == pytest.approx(expected.low, abs=1e-12)
    assert high == pytest.approx(expected.high, abs=1e-12)


def test_the_interval_holds_the_share_at_both_ends():
    for total in range(1, 3000):
        assert wilson(total, total)[1] == 1
        assert wilson(0, total)[0] == 0


@pytest.mark.parametrize('values', [[0.7, 0.9], [1.0, 2.0, 4.0, -3.0], [5.0, 5.0, 5.0]])
def test_the_interval_of_a_mean_is_that_of_a_t_test(values):
    if len(set(values)) == 1:
        assert t_interval(values) == (5.0, 5.0)
        return
    expected = stats.ttest_1samp(values, 0.0).confidence_interval()
    assert t_interval(values) == pytest.approx((expected.low, expected.high), rel=1e-12)
