"""The noise-contrastive form against its formula, and the closed form of its constant."""

import jax.numpy as jnp
import numpy as np
import pytest

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


def test_noise_contrastive_form_is_its_formula(arrays):
    anchors, bank, index = arrays
    noise = np.random.default_rng(2).integers(0, N, (B, 15))
    noise[1, 3] = -1
    temperature, kappa = 0.2, 1.7
    s = np.asarray(anchors, np.float64) @ np.asarray(bank, np.float64).T
    p = np.exp(s / temperature) / (kappa * N)
    total = 0.0
    for i in range(B):
        total -= np.log(p[i, index[i]] / (p[i, index[i]] + 15 / N))
        for j in noise[i]:
            if j >= 0:
                total -= np.log((15 / N) / (p[i, j] + 15 / N))
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
