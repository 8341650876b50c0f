"""k-bit images: nothing but the code, and its floor."""

import numpy as np
import pytest

from contrastive_jax import losses
from contrastive_jax.data import probing, sources
from contrastive_jax.data.probing.k_bit_images import bits_loss_floor
from tests.data.probing.composing import composed


def test_the_image_is_black_and_the_channels_are_the_code():
    dataset = probing.k_bit_images(sources.open_source('synthetic:200', 'train'), num_bits=5)
    examples = composed(dataset, np.arange(200))
    assert examples['image'].shape == (200, 32, 32, 1)
    assert not examples['image'].any()
    np.testing.assert_array_equal(examples['channels'] @ (1 << np.arange(5)), examples['code'])
    assert set(dataset.factors) == {'code'}


@pytest.mark.parametrize(
    ('num_bits', 'batch_size', 'floor'),
    [(5, 128, 2.07), (8, 128, 0.47), (10, 128, 0.13), (5, 1024, 4.16), (8, 1024, 2.08),
     (10, 1024, 0.87), (15, 1024, 0.03), (0, 128, np.log(255))],
)  # fmt: skip
def test_floor_has_the_values_of_the_fact_sheet(num_bits, batch_size, floor):
    # Simulated there to two digits: chen2021, section 3.
    assert bits_loss_floor(num_bits, batch_size) == pytest.approx(floor, abs=0.011)


def test_floor_is_the_loss_of_an_encoder_that_knows_only_the_bits():
    random = np.random.default_rng(0)
    rows = np.linalg.qr(random.normal(size=(32, 32)))[0].astype(np.float32)
    values = []
    for _ in range(40):
        z = rows[random.integers(0, 32, 64)]
        values.append(float(losses.nt_xent(z, z, temperature=0.01)[0]))
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - bits_loss_floor(5, 64)) < 4 * error
