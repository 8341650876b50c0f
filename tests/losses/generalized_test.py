"""The generalized contrastive loss: golden values of the notebook, priors, and its neighbours."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from contrastive_jax import losses
from contrastive_jax.losses.generalized import (
    PRIORS,
    alignment_term,
    distribution_matching,
    draw_prior,
    generalized_contrastive,
    log_sum_exp_term,
)
from contrastive_jax.losses.sliced_wasserstein import random_projections, sliced_wasserstein

ROW, COLUMN = np.mgrid[1:9, 1:6]
GOLDEN_STATES = np.sin(0.7 * ROW * COLUMN)
LOG_SUM_EXP = {'prior': 'uniform_hypersphere', 'distribution': 'log_sum_exp'}


def draw(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def unit(rows):
    rows = np.asarray(rows, np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def golden_views():
    states = jnp.asarray(GOLDEN_STATES, jnp.float32)
    return states[:4], states[4:]


def loop_log_sum_exp(rows, temperature, include_self):
    total = 0.0
    for i, row in enumerate(rows):
        terms = [
            row @ other / temperature for j, other in enumerate(rows) if include_self or i != j
        ]
        total += max(terms) + math.log(sum(math.exp(term - max(terms)) for term in terms))
    return total / len(rows)


def test_golden_alignment():
    z1, z2 = golden_views()
    np.testing.assert_allclose(alignment_term(z1, z2), 0.47498855, rtol=1e-6)
    unit_alignment = alignment_term(jnp.asarray(unit(z1)), jnp.asarray(unit(z2)))
    np.testing.assert_allclose(unit_alignment, 0.16892578, rtol=1e-6)
    cosine = np.mean(np.sum(unit(z1) * unit(z2), axis=1))
    np.testing.assert_allclose(unit_alignment, (1 - cosine) / 5, rtol=1e-6)


@pytest.mark.parametrize(
    ('temperature', 'include_self', 'expected'),
    [
        (0.1, True, 8.3915024),
        (0.2, True, 3.4473832),
        (0.5, True, 1.0234330),
        (1.0, True, 0.6078312),
        (0.2, False, 2.1510938 - math.log(5)),
        (1.0, False, 1.8662328 - math.log(5)),
    ],
)
def test_golden_log_sum_exp(temperature, include_self, expected):
    rows = jnp.asarray(unit(GOLDEN_STATES), jnp.float32)
    term = log_sum_exp_term(rows, temperature=temperature, include_self=include_self)
    np.testing.assert_allclose(term, expected, rtol=2e-6)


def test_golden_decoupled_loss_of_the_notebook():
    loss, parts = generalized_contrastive(
        *golden_views(), **LOG_SUM_EXP, weight=0.1, temperature=1.0, scale=1000.0
    )
    np.testing.assert_allclose(loss, 229.708893, rtol=1e-6)
    np.testing.assert_allclose(loss, 1000 * (parts['alignment'] + 0.1 * parts['distribution']))


@pytest.mark.parametrize('include_self', [True, False])
@pytest.mark.parametrize('temperature', [0.001, 0.2, 100.0])
def test_log_sum_exp_form_equals_the_loop_in_value_and_gradient(temperature, include_self):
    z1, z2 = draw(0, 7, 4), draw(1, 7, 4)

    def reference(both):
        rows = unit(both)
        aligned = sum(np.sum((a - b) ** 2) for a, b in zip(rows[:7], rows[7:], strict=True))
        spread = loop_log_sum_exp(rows, temperature, include_self) - math.log(4)
        return aligned / (2 * 7 * 4) + 0.3 * spread

    def loss(both):
        return generalized_contrastive(
            both[:7],
            both[7:],
            **LOG_SUM_EXP,
            weight=0.3,
            temperature=temperature,
            include_self=include_self,
        )[0]

    both = jnp.concatenate([z1, z2])
    value, gradient = jax.jit(jax.value_and_grad(loss))(both)
    np.testing.assert_allclose(value, reference(both), rtol=1e-6)
    wide, step, expected = np.asarray(both, np.float64), 1e-6, np.zeros(both.shape)
    for position in np.ndindex(*both.shape):
        move = np.zeros(both.shape)
        move[position] = step
        expected[position] = (reference(wide + move) - reference(wide - move)) / (2 * step)
    # Float32 logits of 1 / tau carry 1e-7 / tau of rounding into the weights of the gradient.
    tolerance = max(2e-6, 2e-7 / temperature) * np.abs(expected).max()
    np.testing.assert_allclose(gradient, expected, atol=tolerance)


@pytest.mark.parametrize('include_self', [True, False])
def test_log_sum_exp_with_a_temperature_for_each_dimension_and_its_gradient(include_self):
    """Rows divided by the square roots; a learned temperature, scalar or vector, is followed."""
    states = draw(0, 8, 3)
    temperatures = np.array([0.2, 0.5, 1.0])

    def term(states, temperature):
        rows = states / jnp.linalg.norm(states, axis=1, keepdims=True)
        return log_sum_exp_term(rows, temperature=temperature, include_self=include_self)

    def reference(states, temperature):
        rows = unit(states) / np.sqrt(temperature)
        return loop_log_sum_exp(rows, 1.0, include_self) - math.log(3)

    for temperature in (temperatures, np.array(0.3)):
        inputs = states, jnp.asarray(temperature, jnp.float32)
        value, gradients = jax.jit(jax.value_and_grad(term, (0, 1)))(*inputs)
        wide = np.asarray(states, np.float64), temperature
        np.testing.assert_allclose(value, reference(*wide), rtol=1e-6)
        for place, gradient in enumerate(gradients):
            expected, step = np.zeros(gradient.shape), 1e-6
            for position in np.ndindex(*gradient.shape):
                move = np.zeros(gradient.shape)
                move[position] = step
                up, down = list(wide), list(wide)
                up[place], down[place] = wide[place] + move, wide[place] - move
                expected[position] = (reference(*up) - reference(*down)) / (2 * step)
            np.testing.assert_allclose(gradient, expected, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize('prior', PRIORS)
@pytest.mark.parametrize('num_projections', [None, 3, 9])
def test_sliced_wasserstein_form_is_its_parts(prior, num_projections, key):
    """Rows, prior and directions put together by hand; both views in one set of 2n rows."""
    z1, z2 = draw(0, 6, 4), draw(1, 6, 4)
    loss, parts = generalized_contrastive(
        z1,
        z2,
        prior=prior,
        distribution='sliced_wasserstein',
        weight=5.0,
        scale=2.0,
        num_projections=num_projections,
        key=key,
    )
    if prior == 'uniform_hypersphere':
        z1, z2 = unit(z1), unit(z2)
    prior_key, projections_key = jax.random.split(key)
    directions = random_projections(4, num_projections or 4, key=projections_key)
    distance = sliced_wasserstein(
        jnp.concatenate([jnp.asarray(z1, jnp.float32), jnp.asarray(z2, jnp.float32)]),
        draw_prior(prior, (12, 4), key=prior_key),
        directions,
    )
    np.testing.assert_allclose(parts['distribution'], distance, rtol=1e-6)
    aligned = np.mean(np.square(np.asarray(z1, np.float64) - z2)) / 2
    np.testing.assert_allclose(parts['alignment'], aligned, rtol=1e-6)
    np.testing.assert_allclose(loss, 2 * (aligned + 5 * distance), rtol=1e-6)


@pytest.mark.parametrize(
    ('prior', 'row_length', 'expected'),
    [
        ('normal', 0.0, 1.0),
        ('uniform_hypersphere', 0.0, 1 / 16),
        ('uniform_hypercube', 0.0, 1 / 3),
        ('uniform_hypersphere', 1.0, 2 / 16),
    ],
)
def test_collapsed_rows_cost_what_the_prior_says(prior, row_length, expected, key):
    """Zeros: the variance of a coordinate, 1, 1/d, 1/3. One constant unit vector: 2/d."""
    rows = jnp.zeros((2048, 16)).at[:, 0].set(row_length)
    loss, parts = generalized_contrastive(
        rows, rows, prior=prior, distribution='sliced_wasserstein', weight=1.0, key=key
    )
    # 4,096 x 16 draws of variance at most 2 (a squared normal): five standard errors.
    np.testing.assert_allclose(parts['distribution'], expected, rtol=5 * math.sqrt(2 / 65536))
    assert parts['alignment'] == 0
    np.testing.assert_allclose(loss, parts['distribution'])


@pytest.mark.parametrize(
    ('prior', 'floor'),
    [('normal', 2.2e-2), ('uniform_hypersphere', 3.3e-4), ('uniform_hypercube', 7.9e-3)],
)
def test_matched_samples_cost_the_sampling_floor(prior, floor):
    """Two samples of one prior, 256 rows of 64 dimensions: `floor` is one draw of it."""
    keys = jax.random.split(jax.random.key(3), 24).reshape(12, 2)

    def distance(key):
        rows = draw_prior(prior, (256, 64), key=key[0])
        loss = generalized_contrastive(
            rows[:128],
            rows[128:],
            prior=prior,
            distribution='sliced_wasserstein',
            weight=1.0,
            key=key[1],
        )
        return loss[1]['distribution']

    distances = np.asarray(jax.vmap(distance)(keys))
    assert abs(distances.mean() - floor) < 3 * distances.std()
    assert distances.std() < 0.12 * floor


def test_distribution_matching_is_the_generalized_loss_of_two_equal_views(key):
    """Value but for log 2, as stated, and gradient; of the sliced form the two parts by hand."""
    z = draw(0, 6, 4)
    options = {**LOG_SUM_EXP, 'temperature': 0.3}
    alone, gradient = jax.value_and_grad(lambda z: distribution_matching(z, **options)[0])(z)
    both, doubled = jax.value_and_grad(
        lambda z: generalized_contrastive(z, z, **options, weight=2.0, scale=3.0)[0]
    )(z)
    np.testing.assert_allclose(both, 6 * (alone + math.log(2)), rtol=1e-6)
    np.testing.assert_allclose(doubled, 6 * gradient, atol=1e-5 * jnp.abs(doubled).max())
    without = distribution_matching(z, **options, include_self=False)[0]
    expected = loop_log_sum_exp(unit(z), 0.3, include_self=False) - math.log(4)
    np.testing.assert_allclose(without, expected, rtol=1e-6)
    prior_key, directions_key = jax.random.split(key)
    sliced = {'distribution': 'sliced_wasserstein', 'key': key, 'num_projections': 3}
    for prior in PRIORS:
        rows = jnp.asarray(unit(z), jnp.float32) if prior == 'uniform_hypersphere' else z
        expected = sliced_wasserstein(
            rows,
            draw_prior(prior, (6, 4), key=prior_key),
            random_projections(4, 3, key=directions_key),
        )
        found = distribution_matching(z, prior=prior, **sliced)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize('distribution', ['log_sum_exp', 'sliced_wasserstein'])
def test_codes_that_are_repeated_exactly_are_finite_and_spread(distribution, key):
    """Rows of 4 codes, each there 8 times, as images of 2 bits give: gradients tear none apart."""
    codes = draw(0, 4, 3)
    options = {'prior': 'uniform_hypersphere', 'distribution': distribution}
    options |= {'temperature': 0.5} if distribution == 'log_sum_exp' else {'key': key}

    def loss(codes):
        return distribution_matching(jnp.tile(codes, (8, 1)), **options)[0]

    gradient = jax.grad(loss)(codes)
    assert np.isfinite(gradient).all()
    assert loss(codes - 0.1 * gradient / jnp.abs(gradient).max()) < loss(codes)


def test_distribution_matching_names_what_does_not_fit():
    options = {**LOG_SUM_EXP, 'temperature': 0.3}
    with pytest.raises(ValueError, match=r'z must be \[n, d\] with n >= 2, got \(1, 4\)'):
        distribution_matching(jnp.ones((1, 4)), **options)
    with pytest.raises(ValueError, match='num_projections must be None'):
        distribution_matching(jnp.ones((3, 4)), **options, num_projections=2)


def test_table1_differs_by_the_stated_factors(key):
    z1, z2 = draw(0, 6, 4), draw(1, 6, 4)
    for options in (
        {**LOG_SUM_EXP, 'temperature': 0.5},
        {'prior': 'normal', 'distribution': 'sliced_wasserstein', 'key': key},
    ):
        notebook = generalized_contrastive(z1, z2, **options, weight=0.5)[1]
        loss, printed = generalized_contrastive(z1, z2, **options, weight=0.5, convention='table1')
        np.testing.assert_allclose(printed['alignment'], 2 * notebook['alignment'], rtol=1e-6)
        if options['distribution'] == 'log_sum_exp':
            expected = notebook['distribution'] + math.log(4)
        else:
            expected = notebook['distribution'] * 12 / 4
        np.testing.assert_allclose(printed['distribution'], expected, rtol=1e-6)
        np.testing.assert_allclose(
            loss, printed['alignment'] + 0.5 * printed['distribution'], rtol=1e-6
        )


def test_weight_tau_over_d_without_self_is_nt_xent(key):
    """tau NT-Xent = minus cosine plus tau log-sum-exp, Eq. 3; here everything is over d."""
    z1, z2 = draw(0, 9, 5), draw(1, 9, 5)
    loss, _ = generalized_contrastive(
        z1, z2, **LOG_SUM_EXP, weight=0.2 / 5, temperature=0.2, include_self=False
    )
    nt_xent, _ = losses.nt_xent(z1, z2, temperature=0.2)
    expected = (0.2 * nt_xent + 1 - 0.2 * math.log(5)) / 5
    np.testing.assert_allclose(loss, expected, rtol=1e-6)


@pytest.mark.parametrize('prior', PRIORS)
def test_mispaired_views_are_worse_and_the_order_of_pairs_is_free(prior, key):
    options = {'prior': prior, 'distribution': 'sliced_wasserstein', 'weight': 1.0, 'key': key}
    z1 = draw(0, 16, 8)
    z2 = z1 + 0.1 * draw(1, 16, 8)
    loss, parts = generalized_contrastive(z1, z2, **options)
    order = np.random.default_rng(0).permutation(16)
    np.testing.assert_allclose(
        generalized_contrastive(z1[order], z2[order], **options)[0], loss, rtol=1e-6
    )
    worse, mispaired = generalized_contrastive(z1, jnp.roll(z2, 1, axis=0), **options)
    assert worse > loss + 0.01
    np.testing.assert_allclose(mispaired['distribution'], parts['distribution'], rtol=1e-6)


def test_keys_draw_anew_and_jit_equals_eager(key):
    z1, z2 = draw(0, 8, 4), draw(1, 8, 4)

    def loss(key):
        return generalized_contrastive(
            z1, z2, prior='normal', distribution='sliced_wasserstein', weight=1.0, key=key
        )[0]

    np.testing.assert_allclose(jax.jit(loss)(key), loss(key), rtol=1e-6)
    assert abs(loss(key) - loss(jax.random.key(1))) > 1e-3


@pytest.mark.parametrize('in_context', [True, False])
@pytest.mark.parametrize('distribution', ['log_sum_exp', 'sliced_wasserstein'])
def test_four_devices_draw_and_compute_what_one_does(distribution, in_context, key):
    z1, z2 = draw(0, 12, 5), draw(1, 12, 5)
    temperature = 0.1 if distribution == 'log_sum_exp' else None

    def loss(z1, z2, key):
        return generalized_contrastive(
            z1,
            z2,
            prior='uniform_hypersphere',
            distribution=distribution,
            weight=1.0,
            temperature=temperature,
            key=key,
        )[0]

    differentiated = jax.value_and_grad(loss, (0, 1))
    value, gradients = differentiated(z1, z2, key)
    mesh = jax.make_mesh((4,), ('data',), axis_types=(AxisType.Auto,))
    rows = NamedSharding(mesh, PartitionSpec('data'))
    everywhere = NamedSharding(mesh, PartitionSpec())
    step = jax.jit(differentiated, in_shardings=(rows, rows, everywhere))
    if in_context:
        with jax.set_mesh(mesh):
            many, many_gradients = step(z1, z2, key)
    else:
        many, many_gradients = step(z1, z2, key)
    np.testing.assert_allclose(many, value, atol=1e-6 * max(1, value))
    for one, spread in zip(gradients, many_gradients, strict=True):
        np.testing.assert_allclose(spread, one, atol=1e-6 * jnp.abs(one).max())


@pytest.mark.parametrize('dtype', [jnp.float32, jnp.bfloat16, jnp.float16])
@pytest.mark.parametrize('prior', PRIORS)
def test_zero_and_huge_rows_are_finite_in_every_type(dtype, prior, key):
    z1 = jnp.zeros((6, 4), dtype).at[2].set(6e4 if dtype == jnp.float16 else 1e30)
    forms = [{'prior': prior, 'distribution': 'sliced_wasserstein', 'key': key}]
    if prior == 'uniform_hypersphere':
        forms.append({**LOG_SUM_EXP, 'temperature': 0.001})
    for form in forms:

        def loss(z1, form=form):
            return generalized_contrastive(z1, jnp.zeros_like(z1), weight=1.0, **form)[0]

        value, gradient = jax.value_and_grad(loss)(z1)
        assert value.dtype == jnp.float32
        assert np.isfinite(value)
        # A zero row that is scaled to unit length may have a gradient of 1e6: no float16.
        if not (dtype == jnp.float16 and prior == 'uniform_hypersphere'):
            assert np.isfinite(np.asarray(gradient, np.float32)).all()


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'prior': 'sphere'}, r"prior must be one of .*, got 'sphere'"),
        ({'distribution': 'mmd'}, r"distribution must be one of .*, got 'mmd'"),
        ({'convention': 'colab'}, r"convention must be one of .*, got 'colab'"),
        ({'projections': 'haar'}, r"kind must be one of .*, got 'haar'"),
        ({'key': None}, r'key is required'),
        ({'temperature': 0.1}, r'temperature must be None'),
        ({'distribution': 'log_sum_exp'}, r"needs prior 'uniform_hypersphere'"),
        (LOG_SUM_EXP, r'temperature is required'),
        ({**LOG_SUM_EXP, 'temperature': 0.0}, r'temperature must be positive'),
        (
            {**LOG_SUM_EXP, 'temperature': 1.0, 'num_projections': 3},
            r'num_projections must be None',
        ),
        (
            {**LOG_SUM_EXP, 'temperature': 1.0, 'projections': 'independent'},
            r"projections must be 'orthogonal' for distribution 'log_sum_exp'.*'independent'",
        ),
        (
            {'include_self': False},
            r"include_self must be True for distribution 'sliced_wasserstein'.*got False",
        ),
        ({'weight': -1}, r'weight must be finite and at least 0, got -1'),
        ({'weight': math.nan}, r'weight must be finite and at least 0, got nan'),
        ({'weight': math.inf}, r'weight must be finite and at least 0, got inf'),
        ({'scale': 0.0}, r'scale must be positive and finite, got 0.0'),
        ({'scale': math.inf}, r'scale must be positive and finite, got inf'),
    ],
)
def test_options_that_do_not_fit_are_named_while_tracing(options, message, key):
    defaults = {'prior': 'normal', 'distribution': 'sliced_wasserstein', 'weight': 1.0, 'key': key}
    z1 = jnp.ones((4, 3))

    def loss(z1):
        return generalized_contrastive(z1, z1, **{**defaults, **options})[0]

    with pytest.raises(ValueError, match=message):
        jax.eval_shape(loss, z1)
    with pytest.raises(ValueError, match=r'must be \[n, d\] of one shape'):
        generalized_contrastive(z1, z1[:3], **defaults)


def test_defaults_may_be_given_and_weights_and_scales_traced(key):
    z1, z2 = draw(0, 6, 4), draw(1, 6, 4)
    options = {**LOG_SUM_EXP, 'temperature': 0.5}
    plain = generalized_contrastive(z1, z2, **options, weight=0.3, scale=2.0)[0]
    # A caller may pass a key to every loss.
    stated = jax.jit(
        lambda weight, scale: generalized_contrastive(
            z1, z2, **options, weight=weight, scale=scale, include_self=True, key=key
        )[0]
    )(0.3, 2.0)
    np.testing.assert_allclose(stated, plain, rtol=1e-6)
