"""Objectives over neighbour sets: a double loop, and the identities of Wu 2020."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.losses import memory_bank, neighbour_sets

B, N, D = 5, 30, 8
TEMPERATURE = 0.2


@pytest.fixture
def arrays():
    random = np.random.default_rng(0)
    bank = random.normal(size=(N, D))
    bank /= np.linalg.norm(bank, axis=1, keepdims=True)
    index = np.array([3, 29, 0, 17, 8])
    anchors = bank[index] + 0.3 * random.normal(size=(B, D))
    anchors /= np.linalg.norm(anchors, axis=1, keepdims=True)
    return (
        jnp.asarray(anchors, jnp.float32),
        jnp.asarray(bank, jnp.float32),
        jnp.asarray(index, jnp.int32),
    )


@pytest.fixture
def sets(arrays):
    """Backgrounds with draws repeated, empty places and now and then the own row; close sets."""
    random = np.random.default_rng(1)
    background = random.integers(-1, N, (B, 14))
    background[0, 2] = background[0, 5] = arrays[2][0]
    close = np.concatenate([background[:, :4], random.integers(-1, N + 3, (B, 3))], axis=1)
    close[1, 0] = arrays[2][1]
    return jnp.asarray(background, jnp.int32), jnp.asarray(close, jnp.int32)


def double_loop(kind, anchors, bank, index, background, close):
    """Minus log of numerator over denominator in float64, set by set."""
    anchors, bank = np.asarray(anchors, np.float64), np.asarray(bank, np.float64)
    total = 0.0
    for i in range(len(anchors)):
        own = int(index[i])
        e = np.exp(bank @ anchors[i] / TEMPERATURE)
        members = [int(j) for j in background[i] if 0 <= j < len(bank) and j != own]
        near = {int(j) for j in close[i]}
        both = [e[j] for j in members if j in near]
        ring = sum(e[j] for j in members if j not in near)
        ball = e[own] + sum(e[j] for j in members)
        total -= np.log(
            {
                'ball': e[own] / ball,
                'annulus': e[own] / (ring + e[own]),
                'annulus_literal': e[own] / ring,
                'sum': (e[own] + sum(both)) / ball,
                'mean': (e[own] + sum(both)) / (1 + len(both)) / ball,
            }[kind]
        )
    return total / len(anchors)


def fast(kind, arrays, background, close, anchors=None):
    anchors = arrays[0] if anchors is None else anchors
    options = {'temperature': TEMPERATURE, 'background': background}
    if kind == 'ball':
        return neighbour_sets.ball(anchors, *arrays[1:], **options)
    options['close'] = close
    if kind.startswith('annulus'):
        return neighbour_sets.annulus(
            anchors, *arrays[1:], **options, include_positive=kind == 'annulus'
        )
    return neighbour_sets.local_aggregation(anchors, *arrays[1:], **options, reduce=kind)


KINDS = ('ball', 'annulus', 'annulus_literal', 'sum', 'mean')


@pytest.mark.parametrize('kind', KINDS)
def test_value_and_gradient_are_those_of_the_double_loop(arrays, sets, kind):
    loss, parts = fast(kind, arrays, *sets)
    assert float(loss) == pytest.approx(double_loop(kind, *arrays, *sets), rel=1e-5)
    assert float(parts['alignment'] + parts['log_sum_exp']) == pytest.approx(float(loss), rel=1e-5)
    gradient = jax.grad(lambda rows: fast(kind, arrays, *sets, anchors=rows)[0])(arrays[0])
    rows = np.asarray(arrays[0], np.float64)
    for i, j in ((0, 0), (1, 3), (4, 7)):
        step = np.zeros_like(rows)
        step[i, j] = 1e-5
        ends = [double_loop(kind, rows + sign * step, *arrays[1:], *sets) for sign in (1, -1)]
        assert float(gradient[i, j]) == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-4)


def test_ball_with_everything_is_instance_discrimination(arrays):
    everything = jnp.tile(jnp.arange(N, dtype=jnp.int32)[None], (B, 1))
    ball = neighbour_sets.ball(*arrays, temperature=TEMPERATURE, background=everything)[0]
    whole = memory_bank.instance_discrimination(*arrays, temperature=TEMPERATURE)[0]
    assert float(ball) == pytest.approx(float(whole), rel=1e-6)


def test_local_aggregation_with_only_itself_close_is_ball(arrays, sets):
    """Wu 2020: LA_0 = BALL, with either reduction."""
    background, _ = sets
    itself = arrays[2][:, None]
    ball = float(fast('ball', arrays, background, None)[0])
    for reduce in ('sum', 'mean'):
        assert float(fast(reduce, arrays, background, itself)[0]) == pytest.approx(ball, rel=1e-6)


def test_local_aggregation_never_exceeds_ball(arrays, sets):
    """LA as defined is at least BALL as a log-likelihood, against Wu 2020, Lemma 5.3."""
    aggregated = float(fast('sum', arrays, *sets)[0])
    assert aggregated < float(fast('ball', arrays, *sets)[0])
    assert aggregated < float(fast('mean', arrays, *sets)[0])


def test_annulus_without_close_rows_is_ball(arrays, sets):
    nothing = jnp.full((B, 1), -1, jnp.int32)
    annulus = fast('annulus', arrays, sets[0], nothing)[0]
    assert float(annulus) == pytest.approx(float(fast('ball', arrays, *sets)[0]), rel=1e-6)


def test_literal_annulus_is_the_log_odds_of_the_ring(arrays, sets):
    """-log(p / (1-p)) for p the probability that includes the positive, one anchor at a time."""
    for i in range(B):
        one = tuple(a[i : i + 1] for a in (arrays[0], arrays[2], *sets))
        part = (one[0], arrays[1], one[1])
        with_positive = float(fast('annulus', part, *one[2:])[0])
        literal = float(fast('annulus_literal', part, *one[2:])[0])
        p = np.exp(-with_positive)
        assert literal == pytest.approx(-np.log(p / (1 - p)), abs=1e-5)


def test_estimate_of_information_is_bounded_by_the_log_of_the_set(arrays):
    """I_VINCE = log |B_i| - BALL <= log |B_i|; never more than what the whole bank gives."""
    random = np.random.default_rng(2)
    background = jnp.asarray(np.stack([random.permutation(N)[:10] for _ in range(B)]), jnp.int32)
    products = np.asarray(arrays[0]) @ np.asarray(arrays[1]).T
    nearest = jnp.asarray(np.argsort(-products, axis=1)[:, :10], jnp.int32)
    whole = np.log(N) - float(memory_bank.contrastive(*arrays, temperature=TEMPERATURE)[0])
    for sets in (background, nearest):
        ball = float(fast('ball', arrays, sets, None)[0])
        assert ball >= 0
    # Theorem 4.1 for the top p% of a critic: harder negatives lower the estimate.
    sizes = [len({*row, i}) for row, i in zip(nearest.tolist(), arrays[2].tolist(), strict=True)]
    assert np.mean(np.log(sizes)) - ball < whole


def test_empty_background_costs_nothing_and_an_empty_ring_is_left_out(arrays, sets):
    nothing = jnp.full((B, 3), -1, jnp.int32)
    loss, gradient = jax.value_and_grad(
        lambda rows: fast('ball', arrays, nothing, None, anchors=rows)[0]
    )(arrays[0])
    assert float(loss) == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(gradient, 0, atol=1e-6)
    background, close = (jnp.asarray(s).at[2].set(-1) for s in sets)
    (loss, parts), gradient = jax.value_and_grad(
        lambda rows: fast('annulus_literal', arrays, background, close, anchors=rows),
        has_aux=True,
    )(arrays[0])
    kept = np.array([0, 1, 3, 4])
    expected = double_loop(
        'annulus_literal',
        arrays[0][kept],
        arrays[1],
        arrays[2][kept],
        background[kept],
        close[kept],
    )
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    assert float(parts['left_out']) == pytest.approx(1 / B)
    assert np.all(np.isfinite(gradient))
    assert np.all(np.asarray(gradient)[2] == 0)


def test_cmc_is_two_objectives_with_the_banks_swapped(arrays, sets):
    anchors, bank, index = arrays
    other_anchors, other_bank = jnp.roll(anchors, 1, axis=1), jnp.roll(bank, 3, axis=1)
    pairs = (anchors, other_anchors, bank, other_bank, index)
    options = {'temperature': TEMPERATURE}
    background, close = sets
    swapped = (background, background[:, ::-1]), (close, close[:, :4])
    coding = neighbour_sets.contrastive_multiview_coding
    ir = memory_bank.instance_discrimination
    expected = ir(anchors, other_bank, index, **options)[0]
    expected += ir(other_anchors, bank, index, **options)[0]
    assert float(coding(*pairs, **options)[0]) == pytest.approx(float(expected), rel=1e-6)
    same = coding(anchors, anchors, bank, bank, index, **options)[0]
    assert float(same) == pytest.approx(2 * float(ir(*arrays, **options)[0]), rel=1e-6)
    expected = double_loop('annulus', anchors, other_bank, index, background, close)
    expected += double_loop('annulus', other_anchors, bank, index, background, close[:, :4])
    loss, parts = coding(*pairs, **options, backgrounds=swapped[0], closes=swapped[1])
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    assert float(parts['alignment'] + parts['log_sum_exp']) == pytest.approx(float(loss), rel=1e-5)
    expected = double_loop('ball', anchors, other_bank, index, background, close)
    expected += double_loop('ball', other_anchors, bank, index, background, close)
    loss = coding(*pairs, **options, backgrounds=swapped[0])[0]
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    with pytest.raises(ValueError, match='closes needs backgrounds'):
        coding(*pairs, **options, closes=swapped[1])


def test_bad_input_is_a_value_error_while_tracing(arrays, sets):
    background, close = sets
    options = {'temperature': TEMPERATURE, 'background': background, 'close': close}
    for changed, match in (
        ({'reduce': 'max'}, "reduce must be one of sum, mean, got 'max'"),
        ({'background': background[:2]}, 'background'),
        ({'close': close.astype(jnp.float32)}, 'close'),
        ({'temperature': -1}, 'temperature'),
    ):
        with pytest.raises(ValueError, match=match):
            jax.eval_shape(
                lambda c=changed: neighbour_sets.local_aggregation(*arrays, **options | c)
            )
