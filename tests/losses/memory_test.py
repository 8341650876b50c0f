"""What the losses need at full size: temporaries that the compiler plans, nothing is run."""

import jax
import jax.numpy as jnp
import pytest

from contrastive_jax import losses
from contrastive_jax.memory import neighbours

ANCHORS, BANK, DIMENSIONS, IDS = 256, 50_000, 128, 4096
MATRIX = 4 * ANCHORS * BANK
ROWS = jax.ShapeDtypeStruct((ANCHORS, DIMENSIONS), jnp.float32)
BANK_ROWS = jax.ShapeDtypeStruct((BANK, DIMENSIONS), jnp.float32)
INDEX = jax.ShapeDtypeStruct((ANCHORS,), jnp.int32)
SETS = jax.ShapeDtypeStruct((ANCHORS, IDS), jnp.int32)

# Options, and the sets of ids.
BANK_LOSSES = {
    'contrastive': ({'temperature': 0.1}, ()),
    'simple_contrastive': ({}, ()),
    'hard_contrastive': ({'temperature': 0.1, 'num_hard': 4095}, ()),
    'hard_simple_contrastive': ({'num_hard': 4095}, ()),
    'instance_discrimination': ({'temperature': 0.1}, ()),
    'instance_discrimination_noise_contrastive': ({'temperature': 0.1}, ('noise',)),
    'local_aggregation': ({'temperature': 0.1}, ('background', 'close')),
    'ball': ({'temperature': 0.1}, ('background',)),
    'annulus': ({'temperature': 0.1}, ('background', 'close')),
}


def temporaries(function, *arrays):
    return jax.jit(function).lower(*arrays).compile().memory_analysis().temp_size_in_bytes


@pytest.mark.slow
@pytest.mark.parametrize('name', BANK_LOSSES)
def test_bank_losses_need_two_and_a_half_similarity_matrices(name):
    options, sets = BANK_LOSSES[name]

    def value(anchors, bank, index, sets):
        return getattr(losses, name)(anchors, bank, index, **sets, **options)[0]

    sets = dict.fromkeys(sets, SETS)
    needed = temporaries(jax.value_and_grad(value), ROWS, BANK_ROWS, INDEX, sets)
    assert needed <= 2.5 * MATRIX


@pytest.mark.slow
@pytest.mark.parametrize('sets', [(), ('backgrounds',), ('backgrounds', 'closes')])
def test_multiview_coding_needs_two_and_a_half_of_its_two_matrices(sets):
    def value(anchors1, anchors2, bank1, bank2, index, sets):
        return losses.contrastive_multiview_coding(
            anchors1, anchors2, bank1, bank2, index, temperature=0.1, **sets
        )[0]

    sets = dict.fromkeys(sets, (SETS, SETS))
    step = jax.value_and_grad(value, (0, 1))
    needed = temporaries(step, ROWS, ROWS, BANK_ROWS, BANK_ROWS, INDEX, sets)
    assert needed <= 2 * 2.5 * MATRIX


def test_a_ring_needs_less_than_one_similarity_matrix(key):
    def draw(anchors, bank, outer):
        return neighbours.ring(anchors, bank, outer=outer, inner=0.1, num_draws=IDS, key=key)

    fraction = jax.ShapeDtypeStruct((), jnp.float32)
    assert temporaries(draw, ROWS, BANK_ROWS, fraction) < MATRIX


@pytest.mark.parametrize(('rows', 'mebibytes'), [(4096, 16), (65_536, 144)])
def test_nt_xent_needs_memory_that_is_linear_in_its_rows(rows, mebibytes):
    half = jax.ShapeDtypeStruct((rows // 2, DIMENSIONS), jnp.float32)
    step = jax.value_and_grad(lambda z1, z2: losses.nt_xent(z1, z2, temperature=0.1)[0], (0, 1))
    assert temporaries(step, half, half) <= mebibytes * 2**20


@pytest.mark.parametrize('name', ['in_batch_hard', 'hardest_negative_triplet'])
def test_hardest_negatives_need_memory_that_is_linear_in_the_rows(name):
    options = {'temperature': 0.1, 'num_hard': 1024} if name == 'in_batch_hard' else {}
    step = jax.value_and_grad(lambda z1, z2: getattr(losses, name)(z1, z2, **options)[0], (0, 1))

    def needed(rows):
        half = jax.ShapeDtypeStruct((rows // 2, DIMENSIONS), jnp.float32)
        return temporaries(step, half, half)

    small, large = needed(4096), needed(16_384)
    assert large <= 4.2 * small
    assert large <= 4 * 16_384**2 / 10
