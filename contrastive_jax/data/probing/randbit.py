"""RandBit: images with a random code of k bits appended as k constant binary channels."""

import jax
import jax.numpy as jnp

from contrastive_jax.data.probing.dataset import ProbingDataset
from contrastive_jax.data.probing.entropy import entropy_bits
from contrastive_jax.data.probing.plain import label_of, to_float
from contrastive_jax.errors import BadInput

MOST_BITS = 30  # a code must fit in an int32


def randbit(source, *, num_bits):
    """Appends `num_bits` random bits to each image: features that are easy and shared by views.

    Each example has one code, uniform on [0, 2^num_bits), a function of seed, split and id: the
    same in both views, untouched by augmentation, in training and in test, and independent of the
    image. Bit j of the code, 0.0 or 1.0, fills channel j behind the image's channels.

    Args:
      source: any source.
      num_bits: k in 0..30.

    Returns:
      A `ProbingDataset` with the factors `label` (where the source has labels) and `code`. It
      measures `code_bits_nominal`, k, and `code_bits_measured`, the entropy of the codes that the
      examples drew, in bits.

    Raises:
      BadInput: num_bits outside 0..30.

    Source: Chen 2021, section 4.3 and Appendix B.1. The paper's "integer in [1, log2 n]" and "n
    bits" cannot both hold; a code of k bits with nominal mutual information of k bits is meant.
    """
    if not 0 <= num_bits <= MOST_BITS:
        raise BadInput(f'config.data.num_bits is {num_bits}, outside 0..{MOST_BITS}.')

    def draw(key):
        return jax.random.randint(key, (), 0, 2**num_bits, jnp.int32)

    def compose(draws, example, tables):
        del tables
        code = draw(draws.example)
        bits = (code >> jnp.arange(num_bits, dtype=jnp.int32)) & 1
        return {
            'image': to_float(example['image']),
            'channels': bits.astype(jnp.float32),
            'label': example['label'],
            'code': code,
        }

    def measure(keys):
        codes = jax.jit(jax.vmap(draw))(keys)
        return {
            'code_bits_nominal': float(num_bits),
            'code_bits_measured': entropy_bits(codes),
        }

    factors = {**label_of(source), 'code': 2**num_bits}
    return ProbingDataset(source, factors, compose, measure)
