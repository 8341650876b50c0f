"""The noise-contrastive form against its formula, and the closed form of its constant."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from contrastive_jax.losses import noise_contrastive

B, N, D = 6, 40, 8


@pytest.fixture
def arrays():
    random = np.random.default_rng(0)
    bank = random.normal(size=(N, D))
    bank /= np.linalg.norm(bank, axis=1, keepdims=True)
    index = np.array([3, 39, 0, 17, 8, 25])
    return (
        jnp.asarray(np.roll(bank[index], 1, axis=1), jnp.float32),
        jnp.asarray(bank, jnp.float32),
        jnp.asarray(index, jnp.int32),
    )


# The 2.209 and 1.476 are the closed constants of the fact sheet of Wu 2020, at d = 128.
@pytest.mark.parametrize(('temperature', 'kappa'), [(0.07, 2.209), (0.1, 1.476)])
def test_partition_of_the_sphere_is_the_closed_constant(temperature, kappa):
    assert np.exp(noise_contrastive.log_sphere_partition(temperature, 128)) == pytest.approx(
        kappa, abs=5e-4
    )


def test_partition_of_the_sphere_is_the_mean_over_the_sphere():
    # In three dimensions u.v is uniform in [-1, 1]: kappa = tau sinh(1 / tau).
    for temperature in (0.001, 0.07, 1.0, 100.0):
        log_sinh = 1 / temperature + np.log1p(-np.exp(-2 / temperature)) - np.log(2)
        assert noise_contrastive.log_sphere_partition(temperature, 3) == pytest.approx(
            np.log(temperature) + log_sinh, rel=1e-9, abs=1e-9
        )


@pytest.mark.parametrize(
    ('temperature', 'dimension'), [(1e-6, 2), (1e-6, 128), (0.07, 128), (1.0, 1), (100.0, 128)]
)
def test_partition_of_the_sphere_is_its_bessel_form(temperature, dimension):
    """kappa = Gamma(d/2) (2 tau)^(d/2 - 1) I_{d/2 - 1}(1 / tau)."""
    order = dimension / 2 - 1
    expected = special.gammaln(dimension / 2) + order * np.log(2 * temperature) + 1 / temperature
    expected += np.log(special.ive(order, 1 / temperature))
    found = noise_contrastive.log_sphere_partition(temperature, dimension)
    # The logarithms of the Gamma functions that cancel are of the size of some 1 / tau.
    assert found == pytest.approx(expected, rel=1e-13, abs=1e-12 * max(1, dimension))


def test_partition_of_the_sphere_has_few_terms_at_any_temperature(monkeypatch):
    counted, logsumexp = [], special.logsumexp

    def count(terms):
        counted.append(len(terms))
        return logsumexp(terms)

    monkeypatch.setattr(noise_contrastive.special, 'logsumexp', count)
    tiny = noise_contrastive.log_sphere_partition(1e-300, 128)
    assert tiny == noise_contrastive.log_sphere_partition(1e-6, 128)
    assert max(counted) < 25_000
    with pytest.raises(ValueError, match='temperature must be positive and finite, got -1'):
        noise_contrastive.log_sphere_partition(-1, 128)


def test_empty_places_are_as_if_they_were_not_there(arrays):
    noise = jnp.asarray(np.random.default_rng(2).integers(0, N, (B, 5)), jnp.int32)
    padded = jnp.concatenate([jnp.full((B, 3), -1, jnp.int32), noise, jnp.full_like(noise, N)], 1)

    def loss(noise):
        return noise_contrastive.instance_discrimination_noise_contrastive(
            *arrays, temperature=0.2, noise=noise, kappa=1.7
        )[0]

    assert float(loss(padded)) == pytest.approx(float(loss(noise)), rel=1e-6)
    # Nothing but the positive: m counts as 1.
    nothing = jnp.full((B, 3), -1, jnp.int32)
    assert np.isfinite(loss(nothing))
    assert float(loss(nothing)) == float(loss(nothing[:, :0]))


@pytest.mark.parametrize(('kappa', 'counts_as'), [(0.0, 1e-30), (-1.0, 1e-30), (np.inf, 1e30)])
def test_a_traced_kappa_is_cut_off_and_finite(arrays, kappa, counts_as):
    noise = jnp.tile(jnp.arange(5, dtype=jnp.int32)[None], (B, 1))

    @jax.value_and_grad
    def loss(kappa):
        return noise_contrastive.instance_discrimination_noise_contrastive(
            *arrays, temperature=0.2, noise=noise, kappa=kappa
        )[0]

    value, slope = loss(jnp.float32(kappa))
    assert float(value) == pytest.approx(float(loss(jnp.float32(counts_as))[0]), rel=1e-6)
    assert slope == 0


@pytest.mark.parametrize('kappa', [0, -1.0, np.inf, np.float32(0)])
def test_a_number_for_kappa_that_is_not_positive_is_named(arrays, kappa):
    with pytest.raises(ValueError, match='kappa must be positive and finite, got'):
        noise_contrastive.instance_discrimination_noise_contrastive(
            *arrays, temperature=0.2, noise=jnp.zeros((B, 1), jnp.int32), kappa=kappa
        )


def test_noise_contrastive_form_is_its_formula(arrays):
    anchors, bank, index = arrays
    noise = np.random.default_rng(2).integers(0, N, (B, 15))
    noise[1, 3] = -1
    temperature, kappa = 0.2, 1.7
    s = np.asarray(anchors, np.float64) @ np.asarray(bank, np.float64).T
    p = np.exp(s / temperature) / (kappa * N)
    total = 0.0
    for i in range(B):
        m = np.sum(noise[i] >= 0)
        total -= np.log(p[i, index[i]] / (p[i, index[i]] + m / N))
        for j in noise[i]:
            if j >= 0:
                total -= np.log((m / N) / (p[i, j] + m / N))
    loss, parts = noise_contrastive.instance_discrimination_noise_contrastive(
        anchors,
        bank,
        index,
        temperature=temperature,
        noise=jnp.asarray(noise, jnp.int32),
        kappa=kappa,
    )
    assert float(loss) == pytest.approx(total / B, rel=1e-5)
    assert float(parts['data'] + parts['noise']) == pytest.approx(float(loss), rel=1e-6)


def test_noise_contrastive_default_is_the_partition_of_the_sphere(arrays):
    anchors, bank, index = arrays
    noise = jnp.tile(jnp.arange(N, dtype=jnp.int32)[None], (B, 1))
    options = {'temperature': 0.3, 'noise': noise}
    kappa = float(np.exp(noise_contrastive.log_sphere_partition(0.3, D)))
    default = noise_contrastive.instance_discrimination_noise_contrastive(*arrays, **options)[0]
    stated = noise_contrastive.instance_discrimination_noise_contrastive(
        *arrays, **options, kappa=kappa
    )
    assert float(default) == pytest.approx(float(stated[0]), rel=1e-6)
    with pytest.raises(ValueError, match='kappa must be given'):
        noise_contrastive.instance_discrimination_noise_contrastive(
            anchors, bank, index, temperature=jnp.float32(0.3), noise=noise
        )
