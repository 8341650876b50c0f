"""Wilson's interval against SciPy's."""

import pytest
from scipy import stats

from contrastive_jax.evaluation.intervals import wilson


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
