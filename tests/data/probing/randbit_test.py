"""RandBit: its bits are what it claims."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from contrastive_jax.data import probing, sources
from contrastive_jax.data.probing.randbit import hash_pixels
from contrastive_jax.errors import BadInput
from contrastive_jax.randomness import Role, key_for, keys_for_examples
from tests.data.probing.composing import composed, sides


@pytest.fixture(scope='module')
def source():
    images = np.random.default_rng(0).integers(0, 256, (6000, 2, 2, 3), np.uint8)
    return sources.ArraySource(images, np.arange(6000) % 10, num_classes=10)


def test_codes_are_uniform_and_independent_of_the_label(source):
    examples = composed(probing.randbit(source, num_bits=4), np.arange(6000))
    counts = np.bincount(examples['code'], minlength=16)
    assert stats.chisquare(counts).pvalue > 1e-3
    table = np.zeros((10, 16))
    np.add.at(table, (np.asarray(examples['label']), np.asarray(examples['code'])), 1)
    assert stats.chi2_contingency(table).pvalue > 1e-3


@pytest.mark.parametrize('num_bits', [0, 1, 5, 30])
def test_the_code_is_read_from_the_channels_by_a_simple_rule(source, num_bits):
    examples = composed(probing.randbit(source, num_bits=num_bits), np.arange(50))
    bits = np.asarray(examples['channels'])
    assert bits.shape == (50, num_bits)
    assert set(np.unique(bits)) <= {0.0, 1.0}
    read = bits.astype(np.int64) @ (1 << np.arange(num_bits))
    np.testing.assert_array_equal(read, examples['code'])


def test_an_example_keeps_its_code_wherever_it_stands(source):
    dataset = probing.randbit(source, num_bits=12)
    alone = composed(dataset, [17])['code'][0]
    among = composed(dataset, [3, 17, 5999, 17])['code']
    assert among[1] == among[3] == alone
    assert among[0] != among[2]


def test_train_test_and_seed_codes_are_independent(source):
    dataset = probing.randbit(source, num_bits=8)
    train = np.asarray(composed(dataset, np.arange(6000))['code'])
    for other in (
        composed(dataset, np.arange(6000), role=Role.TEST_EXAMPLES),
        composed(dataset, np.arange(6000), seed=1),
    ):
        agreeing = np.mean(train == np.asarray(other['code']))
        assert abs(agreeing - 2**-8) < 4 * np.sqrt(2**-8 / 6000)


def test_the_image_is_the_source_in_0_to_1(source):
    examples = composed(probing.randbit(source, num_bits=3), np.arange(20))
    np.testing.assert_allclose(examples['image'], source.images[:20] / 255.0, atol=1e-7)
    assert examples['image'].dtype == jnp.float32


def test_the_measured_entropy_is_that_of_the_codes(source):
    dataset = probing.randbit(source, num_bits=10)
    keys = keys_for_examples(key_for(0, Role.TRAIN_EXAMPLES), np.arange(6000, dtype=np.int32))
    measured = dataset.measure(keys)
    counts = np.unique(np.asarray(composed(dataset, np.arange(6000))['code']), return_counts=True)
    assert measured['code_bits_nominal'] == 10
    np.testing.assert_allclose(
        measured['code_bits_measured'], stats.entropy(counts[1], base=2), rtol=1e-6
    )
    # Miller-Madow: a sample of n has about (2^k - 1) / (2 n ln 2) bits less than k.
    np.testing.assert_allclose(measured['code_bits_measured'], 10 - 1023 / 12000 / 0.693, atol=0.02)


def test_factors_are_declared(source):
    assert probing.randbit(source, num_bits=5).factors == {'label': 10, 'code': 32}
    assert probing.plain(source).factors == {'label': 10}


def test_plain_has_no_channels(source):
    examples = composed(probing.plain(source), np.arange(4))
    assert examples['channels'].shape == (4, 0)


@pytest.mark.parametrize('num_bits', [-1, 31])
def test_bits_outside_0_to_30_are_refused(source, num_bits):
    with pytest.raises(BadInput, match=f'config.data.num_bits is {num_bits}, outside 0..30'):
        probing.randbit(source, num_bits=num_bits)


@pytest.mark.parametrize(
    'make', [probing.plain, lambda source: probing.randbit(source, num_bits=1)]
)
def test_a_source_without_labels_has_no_factor_label(make):
    source = sources.ArraySource(np.zeros((2, 1, 1, 1), np.uint8), np.full(2, -1), num_classes=0)
    assert 'label' not in make(source).factors


def test_hashed_codes_are_of_the_pixels_alone(source):
    dataset = probing.randbit(source, num_bits=8, code='hashed')
    ids = np.arange(6000)
    codes = composed(dataset, ids)['code']
    np.testing.assert_array_equal(codes, composed(dataset, ids, seed=1)['code'])
    assert stats.chisquare(np.bincount(codes, minlength=256)).pvalue > 1e-3
    twins = sources.ArraySource(source.images[[7, 3, 7]], np.zeros(3, int), 1)
    repeated = composed(probing.randbit(twins, num_bits=8, code='hashed'), np.arange(3))['code']
    np.testing.assert_array_equal(repeated, codes[[7, 3, 7]])
    # Codes of k bits are the lowest of those of more bits, as they are of a hash modulo 2^k.
    longer = composed(probing.randbit(source, num_bits=20, code='hashed'), ids)['code']
    np.testing.assert_array_equal(longer % 256, codes)


def test_one_pixel_changes_half_of_the_hash(source):
    images = np.repeat(source.images[:1], 97, axis=0)
    for place in range(12):
        for bit in range(8):
            images[1 + 8 * place + bit].reshape(-1)[place] ^= 1 << bit
    hashes = np.asarray(jax.jit(jax.vmap(hash_pixels))(images))
    changed = np.unpackbits((hashes[1:] ^ hashes[0]).view(np.uint8), axis=1)
    # 96 x 64 fair coins: a standard deviation of .0064; and no bit of the hash is ever stuck.
    assert abs(changed.mean() - 0.5) < 0.03
    assert changed.any(axis=0).all()
    assert len(np.unique(hashes, axis=0)) == 97


def test_the_measured_entropy_of_hashed_codes_is_that_of_distinct_images(source):
    measured = probing.randbit(source, num_bits=30, code='hashed').measure(None)
    assert measured['code_bits_measured'] == pytest.approx(np.log2(6000), abs=1e-3)


def test_fresh_codes_are_drawn_at_each_visit_and_shared_by_the_sides(source):
    dataset = probing.randbit(source, num_bits=20, fresh=True)
    first, second = sides(dataset, np.arange(50))
    later, _ = sides(dataset, np.arange(50), step=1)
    np.testing.assert_array_equal(first['code'], second['code'])
    assert np.mean(first['code'] == later['code']) < 0.1


def test_codes_that_cannot_be_are_refused(source):
    with pytest.raises(BadInput, match="code is 'hash', not one of: random, hashed"):
        probing.randbit(source, num_bits=2, code='hash')
    with pytest.raises(BadInput, match='fresh is True, but a hashed code'):
        probing.randbit(source, num_bits=2, code='hashed', fresh=True)
