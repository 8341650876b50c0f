"""Ceilings of estimates: the tables of lee2023, and NT-Xent itself on ideal embeddings."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax import losses
from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import ideal_class_estimate

# Lee 2023: bits of an ideal encoder at K = 2, 4, 8, ... 512.
IDEAL_BITS = {
    64: (1.560, 2.734, 3.738, 4.603, 5.296, 5.757, 5.963, 6.003, 6.001),
    16: (1.486, 2.520, 3.278, 3.759, 3.966, 4.003, 4.001, 4.000, 4.000),
    4: (1.189, 1.768, 1.977, 2.004, 2.001, 2.000),
    10: (1.426, 2.357, 2.956, 3.249, 3.323, 3.324, 3.322, 3.322),
}


def test_the_ideal_estimate_is_the_table_of_lee2023():
    for classes, row in IDEAL_BITS.items():
        found = [ideal_class_estimate(classes, 2**n, unit='bits') for n in range(1, len(row) + 1)]
        np.testing.assert_allclose(found, row, atol=6e-4)
        assert max(found) < math.log2(classes) + 0.01
    for (classes, pairs), bits in {
        (100, 256): 6.633,
        (1000, 256): 8.619,
        (1000, 512): 9.287,
    }.items():
        assert ideal_class_estimate(classes, pairs, unit='bits') == pytest.approx(bits, abs=6e-4)


def test_what_the_temperature_allows_is_the_table_of_lee2023():
    simplex = {0.1: 5.999, 0.2: 5.481, 0.3: 4.315, 0.5: 2.774, 1: 1.422}
    instances = {0.1: 8.964, 0.2: 6.848, 0.3: 4.735, 0.5: 2.867}
    for classes, row in ((64, simplex), (math.inf, instances)):
        for tau, bits in row.items():
            found = ideal_class_estimate(classes, 256, temperature=tau, unit='bits')
            assert found == pytest.approx(bits, abs=6e-4)


@pytest.mark.parametrize('temperature', [0.02, 0.3])
def test_the_ideal_estimate_is_that_of_nt_xent_on_class_embeddings(key, temperature):
    """Corners of a simplex, classes drawn at random: mean over batches, by simulation."""
    classes, pairs, batches = 8, 12, 400
    corners = jnp.eye(classes) - np.float32(1 / classes)
    rows = corners[jax.random.randint(key, (batches, pairs), 0, classes)]
    loss = jax.vmap(lambda z: losses.nt_xent(z, z, temperature=temperature)[0])(rows)
    estimates = math.log(2 * pairs - 1) - np.asarray(loss, np.float64)
    error = estimates.std() / math.sqrt(batches)
    ideal = ideal_class_estimate(classes, pairs, temperature=temperature)
    assert abs(estimates.mean() - ideal) < 3.5 * error
    assert error < 0.02


def test_orthogonal_pairs_reach_the_ceiling_of_the_temperature():
    loss, _ = losses.nt_xent(jnp.eye(9), jnp.eye(9), temperature=0.4)
    ideal = ideal_class_estimate(math.inf, 9, temperature=0.4)
    assert math.log(17) - float(loss) == pytest.approx(ideal, abs=1e-5)


@pytest.mark.parametrize(
    'options',
    [(1, 8, 0.1, 'nats'), (8, 1, 0.1, 'nats'), (8, 8, -1, 'nats'), (8, 8, 0.1, 'digits')],
)
def test_options_that_cannot_be(options):
    classes, pairs, temperature, unit = options
    sentence = f'num_classes is {classes}, num_pairs {pairs}, temperature {temperature} and unit'
    with pytest.raises(BadInput, match=sentence):
        ideal_class_estimate(classes, pairs, temperature=temperature, unit=unit)
