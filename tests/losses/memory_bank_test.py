"""Objectives over a whole bank: double loops, limits and identities of Wang 2021 and Wu 2020."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from contrastive_jax.losses import memory_bank, neighbour_sets, noise_contrastive

B, N, D = 6, 40, 8


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def arrays():
    random = np.random.default_rng(0)
    bank = unit(random.normal(size=(N, D)))
    index = np.array([3, 39, 0, 17, 8, 25])
    anchors = unit(bank[index] + 0.2 * random.normal(size=(B, D)))
    return (
        jnp.asarray(anchors, jnp.float32),
        jnp.asarray(bank, jnp.float32),
        jnp.asarray(index, jnp.int32),
    )


def similarities64(anchors, bank):
    return np.asarray(anchors, np.float64) @ np.asarray(bank, np.float64).T


def gradient_by_similarity(loss, anchors, bank, index, **options):
    """dL_i / ds_ij [N] of one anchor: with d = N and the bank the identity, s is the anchor."""
    similarities = jnp.asarray(similarities64(anchors, bank)[0], jnp.float32)[None]
    identity = jnp.eye(bank.shape[0])
    value = lambda rows: loss(rows, identity, index[:1], **options)[0]  # noqa: E731
    return np.asarray(jax.grad(value)(similarities)[0], np.float64), np.asarray(similarities[0])


def test_gradients_of_the_similarities_are_those_of_wang(arrays):
    """Wang 2021, Sec. 3.2: dL/ds_ii = -(1/tau) sum_k P_ik, dL/ds_ij = P_ij/tau, r = softmax."""
    temperature = 0.3
    gradient, s = gradient_by_similarity(memory_bank.contrastive, *arrays, temperature=temperature)
    probability = np.exp(s / temperature) / np.sum(np.exp(s / temperature))
    negatives = np.arange(N) != int(arrays[2][0])
    np.testing.assert_allclose(gradient[negatives], probability[negatives] / temperature, rtol=2e-5)
    assert np.sum(gradient) == pytest.approx(0, abs=1e-6)
    r = np.abs(gradient[negatives]) / np.abs(gradient[~negatives])
    assert np.sum(r) == pytest.approx(1, abs=1e-5)
    weights = np.exp(s[negatives] / temperature)
    np.testing.assert_allclose(r, weights / np.sum(weights), rtol=2e-5)


def test_hard_gradient_is_the_same_softmax_over_the_hardest_only(arrays):
    """Wang 2021, Eq. 8."""
    gradient, s = gradient_by_similarity(
        memory_bank.hard_contrastive, *arrays, temperature=0.3, num_hard=5
    )
    own = int(arrays[2][0])
    negatives = [j for j in np.argsort(-s) if j != own]
    hardest, rest = negatives[:5], negatives[5:]
    assert np.all(gradient[rest] == 0)
    r = gradient[hardest] / np.abs(gradient[own])
    weights = np.exp(s[hardest] / 0.3)
    np.testing.assert_allclose(r, weights / np.sum(weights), rtol=2e-5)


def test_simple_gradient_weighs_every_negative_alike(arrays):
    gradient, _ = gradient_by_similarity(memory_bank.simple_contrastive, *arrays)
    expected = np.full(N, 1 / (N - 1))
    expected[int(arrays[2][0])] = -1
    np.testing.assert_allclose(gradient, expected, atol=1e-6)


def test_low_temperature_limit_is_the_margin_free_triplet(arrays):
    """Wang 2021, Eq. 6: tau L -> max(s_max - s_ii, 0), with log m for m tied largest negatives."""
    _, bank, index = arrays
    tied = bank.at[1].set(bank[2]).at[4].set(bank[2])  # three rows that are equal
    anchor = tied[2][None]
    s = similarities64(anchor, tied)[0]
    gap = 1 - s[int(index[0])]

    def loss(tau):
        return float(memory_bank.contrastive(anchor, tied, index[:1], temperature=tau)[0])

    assert 0.001 * loss(0.001) == pytest.approx(gap + 0.001 * np.log(3), abs=1e-6)
    # Where the own row is the largest the loss vanishes.
    easy = memory_bank.contrastive(
        anchor, tied.at[1].set(-bank[2]).at[4].set(-bank[2]), jnp.array([2]), temperature=0.001
    )[0]
    assert float(easy) == pytest.approx(0, abs=1e-6)


def test_high_temperature_limit_with_its_next_order_term(arrays):
    """Wang 2021: tau (L - log N) -> mean negative - ..., next Var(all N similarities) / (2 tau)."""
    anchors, bank, index = arrays
    s = similarities64(anchors, bank)
    own = s[np.arange(B), index]
    first = np.mean(np.sum(s, axis=1) / N - own)
    second = np.mean(np.var(s, axis=1)) / 2
    temperature = 20.0
    loss = float(memory_bank.contrastive(anchors, bank, index, temperature=temperature)[0])
    expected = np.log(N) + first / temperature + second / temperature**2
    assert loss == pytest.approx(expected, abs=1e-6)
    simple = float(memory_bank.simple_contrastive(anchors, bank, index)[0])
    assert first * N / (N - 1) == pytest.approx(simple, abs=1e-6)


def test_high_temperature_gradient_is_that_of_the_simple_loss(arrays):
    anchors, bank, index = arrays
    temperature = 1e3

    def scaled(rows):
        loss = memory_bank.contrastive(rows, bank, index, temperature=temperature)[0]
        return temperature * loss * N / (N - 1)

    simple = jax.grad(lambda rows: memory_bank.simple_contrastive(rows, bank, index)[0])(anchors)
    np.testing.assert_allclose(jax.grad(scaled)(anchors), simple, atol=2e-4)


def test_every_negative_hard_is_the_ordinary_loss_and_fewer_are_less(arrays):
    anchors, bank, index = arrays
    ordinary = memory_bank.contrastive(anchors, bank, index, temperature=0.2)[0]
    values = [
        float(memory_bank.hard_contrastive(*arrays, temperature=0.2, num_hard=k)[0])
        for k in (1, 5, 20, N - 1)
    ]
    assert values[-1] == pytest.approx(float(ordinary), rel=1e-6)
    assert values == sorted(values)
    assert values[0] < values[-1]
    simple = memory_bank.simple_contrastive(*arrays)[0]
    hard_simple = memory_bank.hard_simple_contrastive(*arrays, num_hard=N - 1)[0]
    assert float(hard_simple) == pytest.approx(float(simple), abs=1e-6)


def test_ties_do_not_grow_the_hard_set():
    bank = jnp.ones((10, 4)) / 2
    loss = memory_bank.hard_contrastive(
        bank[:2], bank, jnp.array([0, 9]), temperature=0.1, num_hard=3
    )[0]
    assert float(loss) == pytest.approx(np.log(4), abs=1e-6)


def test_identical_rows_give_the_log_of_the_candidates():
    bank = jnp.ones((10, 4)) / 2
    index = jnp.array([0, 9])
    for temperature in (0.001, 0.07, 1.0, 100.0):
        loss, parts = memory_bank.instance_discrimination(
            bank[:2], bank, index, temperature=temperature
        )
        assert float(loss) == pytest.approx(np.log(10), abs=1e-3 * max(1, 0.01 / temperature))
        assert float(parts['mutual_information']) == pytest.approx(0, abs=1e-2)
    assert float(memory_bank.simple_contrastive(bank[:2], bank, index)[0]) == pytest.approx(0)


def test_sum_of_a_large_bank_keeps_its_digits():
    bank = jnp.full((50_000, 16), 0.25)
    loss = memory_bank.simple_contrastive(bank[:2], bank, jnp.array([0, 1]))[0]
    assert float(loss) == pytest.approx(0, abs=1e-5)


def test_relabelling_bank_and_index_together_changes_nothing(arrays):
    """Wu 2020, O4.1: a permutation of bank and data leaves IR unchanged; of the index does not."""
    anchors, bank, index = arrays
    order = np.random.default_rng(1).permutation(N)
    place = jnp.asarray(np.argsort(order), jnp.int32)
    before = memory_bank.instance_discrimination(anchors, bank, index, temperature=0.1)[0]
    after = memory_bank.instance_discrimination(
        anchors, bank[order], place[index], temperature=0.1
    )[0]
    wrong = memory_bank.instance_discrimination(anchors, bank[order], index, temperature=0.1)[0]
    assert float(after) == pytest.approx(float(before), rel=1e-6)
    assert float(wrong) > float(before) + 1


def test_views_are_a_bank_that_is_the_other_view(arrays):
    """Wu 2020, Eq. 9: the bank of one step is the other view of every example."""
    random = np.random.default_rng(4)
    z1 = jnp.asarray(random.normal(size=(7, 5)), jnp.float32)
    z2 = jnp.asarray(np.asarray(z1) + 0.3 * random.normal(size=(7, 5)), jnp.float32)
    loss, parts = memory_bank.instance_discrimination_views(3 * z1, z2, temperature=0.2)
    u, v = unit(np.asarray(z1, np.float64)), unit(np.asarray(z2, np.float64))
    total = 0.0
    for i in range(7):
        total += np.log(sum(np.exp((u[i] @ v[j] - u[i] @ v[i]) / 0.2) for j in range(7)))
    assert float(loss) == pytest.approx(total / 7, rel=1e-5)
    assert float(parts['alignment'] + parts['log_sum_exp']) == pytest.approx(float(loss), rel=1e-6)
    assert float(parts['mutual_information']) == pytest.approx(np.log(7) - total / 7, rel=1e-5)
    mispaired = memory_bank.instance_discrimination_views(z1, jnp.roll(z2, 1, 0), temperature=0.2)
    assert float(mispaired[0]) > float(loss) + 1
    bank = memory_bank.instance_discrimination(
        jnp.asarray(u, jnp.float32), jnp.asarray(v, jnp.float32), jnp.arange(7), temperature=0.2
    )[0]
    assert float(bank) == pytest.approx(float(loss), rel=1e-5)


@pytest.mark.parametrize('temperature', [0.001, 0.02])
def test_a_loss_near_zero_keeps_its_digits(temperature):
    """Every row beside one other at a cosine of 1 - 12 tau, the rest orthogonal: 4 e^-12."""
    gap = 12 * temperature
    first = np.eye(4, 8)
    second = (1 - gap) * first + np.sqrt(1 - (1 - gap) ** 2) * np.eye(4, 8, k=4)
    rows = jnp.asarray(np.concatenate([first, second]), jnp.float32)
    index, places = jnp.arange(8), jnp.tile(jnp.arange(8)[None], (8, 1))
    s = similarities64(rows, rows)
    own = np.diagonal(s)[:, None]
    terms = np.exp((s - own) / temperature) * (1 - np.eye(8))
    expected = np.mean(np.log1p(terms.sum(axis=1)))
    assert 1e-6 < expected < 1e-4
    options = {'temperature': temperature}
    sets = {'background': places, 'close': jnp.full((8, 1), -1)}
    for loss in (
        memory_bank.contrastive(rows, rows, index, **options),
        memory_bank.instance_discrimination_views(rows, rows, **options),
        memory_bank.hard_contrastive(rows, rows, index, **options, num_hard=7),
        neighbour_sets.ball(rows, rows, index, **options, background=places),
        neighbour_sets.annulus(rows, rows, index, **options, **sets),
        neighbour_sets.local_aggregation(rows, rows, index, **options, **sets),
        neighbour_sets.local_aggregation(rows, rows, index, **options, **sets, reduce='mean'),
    ):
        # 1e-7 / tau is the rounding of a logit, and so the share of the loss.
        assert float(loss[0]) == pytest.approx(expected, rel=3e-7 / temperature)


SETS = {
    'background': jnp.tile(jnp.arange(9)[None], (B, 1)),
    'close': jnp.tile(jnp.asarray([[-1, 2, 7, 2]]), (B, 1)),
}
LOSSES = {
    'contrastive': (memory_bank.contrastive, {'temperature': 0.1}),
    'simple': (memory_bank.simple_contrastive, {}),
    'hard': (memory_bank.hard_contrastive, {'temperature': 0.1, 'num_hard': 4}),
    'hard_simple': (memory_bank.hard_simple_contrastive, {'num_hard': 4}),
    'noise_contrastive': (
        noise_contrastive.instance_discrimination_noise_contrastive,
        {'temperature': 0.1, 'noise': jnp.tile(jnp.arange(5)[None], (B, 1))},
    ),
    'ball': (
        neighbour_sets.ball,
        {'temperature': 0.1, 'background': SETS['background']},
    ),
    'annulus': (neighbour_sets.annulus, {'temperature': 0.1, **SETS}),
    'local_aggregation': (neighbour_sets.local_aggregation, {'temperature': 0.1, **SETS}),
    'multiview': (
        lambda anchors, bank, index, **options: neighbour_sets.contrastive_multiview_coding(
            anchors, anchors[:, ::-1], bank, bank, index, **options
        ),
        {'temperature': 0.1},
    ),
}


@pytest.mark.parametrize('name', LOSSES)
def test_index_outside_the_bank_is_left_out_of_the_mean(arrays, name):
    loss, options = LOSSES[name]
    anchors, bank, index = arrays
    outside = index.at[1].set(N).at[4].set(-1)
    kept = np.array([0, 2, 3, 5])
    whole = lambda rows: loss(rows, bank, outside, **options)  # noqa: E731
    (value, parts), gradient = jax.value_and_grad(whole, has_aux=True)(anchors)
    short = {k: v[kept] if isinstance(v, jax.Array) else v for k, v in options.items()}
    expected = loss(anchors[kept], bank, index[kept], **short)[0]
    assert float(value) == pytest.approx(float(expected), rel=1e-6)
    assert float(parts['left_out']) == pytest.approx(2 / B)
    assert np.all(np.asarray(gradient)[[1, 4]] == 0)
    nothing = jax.value_and_grad(
        lambda rows: loss(rows, bank, jnp.full_like(index, N + 7), **options)[0]
    )
    value, gradient = nothing(anchors)
    assert float(value) == 0
    assert np.all(np.asarray(gradient) == 0)


@pytest.mark.parametrize('name', ['hard', 'local_aggregation'])
def test_rows_are_worked_on_where_they_are_without_gathering_the_matrix(name):
    loss, options = LOSSES[name]
    mesh = Mesh(np.asarray(jax.devices()), ('data',), axis_types=(AxisType.Auto,))
    rows = NamedSharding(mesh, PartitionSpec('data'))
    whole = NamedSharding(mesh, PartitionSpec())
    ids = jax.ShapeDtypeStruct((64, 20), jnp.int32, sharding=rows)
    sets = {k: ids for k, v in options.items() if isinstance(v, jax.Array)}
    fixed = {k: v for k, v in options.items() if k not in sets}
    with jax.set_mesh(mesh):
        program = jax.jit(
            jax.value_and_grad(lambda *arrays, **sets: loss(*arrays, **fixed, **sets)[0])
        ).lower(
            jax.ShapeDtypeStruct((64, 32), jnp.float32, sharding=rows),
            jax.ShapeDtypeStruct((2048, 32), jnp.float32, sharding=whole),
            jax.ShapeDtypeStruct((64,), jnp.int32, sharding=rows),
            **sets,
        )
    text = program.compile().as_text()
    assert 'all-reduce' in text
    assert 'all-gather' not in text


def test_learned_temperature_at_zero_is_finite(arrays):
    for temperature in (0.0, -1.0):
        value, gradient = jax.value_and_grad(
            lambda tau: memory_bank.contrastive(*arrays, temperature=tau)[0]
        )(jnp.float32(temperature))
        assert np.isfinite(value)
        assert np.isfinite(gradient)


def test_bad_input_is_a_value_error_while_tracing(arrays):
    anchors, bank, index = arrays
    for call, match in (
        (lambda: memory_bank.contrastive(anchors[:, :3], bank, index, temperature=1), 'anchors'),
        (lambda: memory_bank.contrastive(anchors, bank, index[:2], temperature=1), 'index'),
        (lambda: memory_bank.contrastive(anchors, bank, anchors[:, 0], temperature=1), 'index'),
        (lambda: memory_bank.contrastive(anchors, bank, index, temperature=0.0), 'temperature'),
        (lambda: memory_bank.instance_discrimination_views(bank, anchors, temperature=1), 'z1'),
        (lambda: memory_bank.simple_contrastive(anchors, bank[:1], index), 'bank'),
        (
            lambda: memory_bank.hard_contrastive(anchors, bank, index, temperature=1, num_hard=N),
            'num_hard must be in 1..39',
        ),
        (lambda: memory_bank.hard_simple_contrastive(anchors, bank, index, num_hard=0), 'num_hard'),
    ):
        with pytest.raises(ValueError, match=match):
            jax.eval_shape(call)
