"""RandBit: images with a random code of k bits appended as k constant binary channels."""

import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax.data.probing.dataset import ProbingDataset, evaluation_draws
from contrastive_jax.data.probing.entropy import entropy_bits
from contrastive_jax.data.probing.plain import label_of, to_float
from contrastive_jax.errors import BadInput

MOST_BITS = 30  # a code must fit in an int32

CODES = ('random', 'hashed')


def randbit(source, *, num_bits, code='random', fresh=False):
    """Appends `num_bits` bits to each image: features that are easy and shared by views.

    Each example has one code in [0, 2^num_bits), the same in both views, untouched by augmentation,
    in training and in test. Bit j of the code, 0.0 or 1.0, fills channel j behind the image's
    channels.

    Args:
      source: any source.
      num_bits: k in 0..30.
      code: 'random', uniform, a function of seed, split and id, independent of the image; or
        'hashed', the lowest k bits of a 64-bit hash of the image's pixels, as in the paper's
        notebook: equal images have equal codes, whatever the seed, and others collide by chance.
      fresh: draw a random code anew at every visit of the example; both views share it.

    Returns:
      A `ProbingDataset` with the factors `label` (where the source has labels) and `code`. It
      measures `code_bits_nominal`, k, and `code_bits_measured`, the entropy of the examples' codes
      in bits; the latter not for hashed codes of a source that does not fit in memory.

    Raises:
      BadInput: num_bits outside 0..30, an unknown code, a fresh hashed code.

    Source: Chen 2021, section 4.3 and Appendix B.1. The paper's "integer in [1, log2 n]" and "n
    bits" cannot both hold; a code of k bits with nominal mutual information of k bits is meant.
    """
    if not 0 <= num_bits <= MOST_BITS:
        raise BadInput(f'config.data.num_bits is {num_bits}, outside 0..{MOST_BITS}.')
    if code not in CODES:
        raise BadInput(f'config.data.code is {code!r}, not one of: {", ".join(CODES)}.')
    if code == 'hashed' and fresh:
        raise BadInput('config.data.fresh is True, but a hashed code is the same at every visit.')

    def draw(draws):
        key = draws.visit if fresh else draws.example
        return jax.random.randint(key, (), 0, 2**num_bits, jnp.int32)

    def hashed(image):
        return (hash_pixels(image)[0] & jnp.uint32(2**num_bits - 1)).astype(jnp.int32)

    def compose(draws, example, tables):
        del tables
        value = draw(draws) if code == 'random' else hashed(example['image'])
        bits = (value >> jnp.arange(num_bits, dtype=jnp.int32)) & 1
        return {
            'image': to_float(example['image']),
            'channels': bits.astype(jnp.float32),
            'label': example['label'],
            'code': value,
        }

    def measure(keys):
        nominal = {'code_bits_nominal': float(num_bits)}
        if code == 'random':
            codes = jax.jit(jax.vmap(lambda key: draw(evaluation_draws(key))))(keys)
        elif hasattr(source, 'images'):
            codes = jax.jit(lambda images: jax.lax.map(hashed, images, batch_size=256))(
                source.images
            )
        else:
            return nominal  # hashing would decode every image
        return nominal | {'code_bits_measured': entropy_bits(codes)}

    factors = {**label_of(source), 'code': 2**num_bits}
    return ProbingDataset(source, factors, compose, measure)


def hash_pixels(image):
    """A hash of 64 bits, the sum over words of 4 pixels of mix(word + constant of its place).

    Args:
      image: uint8 [...].

    Returns:
      uint32 [2], the low word first.
    """
    pixels = image.ravel()
    words = jax.lax.bitcast_convert_type(
        jnp.pad(pixels, (0, -len(pixels) % 4)).reshape(-1, 4), jnp.uint32
    )
    places = np.arange(2 * words.size, dtype=np.uint32).reshape(2, -1)
    mixed = mix(words[None] + mix(jnp.asarray(places)))
    return mix(jnp.sum(mixed, axis=1, dtype=jnp.uint32))


def mix(words):
    """A bijection of uint32 in which each bit of the result depends on all of the argument's.

    This is MurmurHash3's 32-bit finaliser.
    """
    words = (words ^ (words >> 16)) * jnp.uint32(0x85EBCA6B)
    words = (words ^ (words >> 13)) * jnp.uint32(0xC2B2AE35)
    return words ^ (words >> 16)
