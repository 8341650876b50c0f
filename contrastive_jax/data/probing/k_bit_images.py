"""Images that hold k bits and nothing else, and the least loss that the bits allow."""

import jax.numpy as jnp
import numpy as np
from scipy import stats

from contrastive_jax.data.probing.dataset import ProbingDataset
from contrastive_jax.data.probing.randbit import randbit


def k_bit_images(source, *, num_bits, size=32):
    """Black images with a random code of k bits as k constant channels: RandBit alone.

    Args:
      source: gives ids; its images are not used ('synthetic:<count>' has none).
      num_bits: k in 0..30.
      size: side of the image in pixels.

    Returns:
      A `ProbingDataset` with the factor `code`. It measures what `randbit` measures.

    Raises:
      BadInput: num_bits outside 0..30.

    Source: Chen 2021, Appendix B.3 (saturation of the distribution loss).
    """
    with_images = randbit(source, num_bits=num_bits)

    def compose(draws, example, tables):
        composed = with_images.compose(draws, example, tables)
        code = {'channels': composed['channels'], 'code': composed['code']}
        return {'image': jnp.zeros((size, size, 1)), **code}

    return ProbingDataset(source, {'code': 2**num_bits}, compose, with_images.measure)


def bits_loss_floor(num_bits, batch_size):
    """Least NT-Xent of an encoder that knows the bits alone, for a temperature to zero.

      E log(2M - 1),   M - 1 ~ Binomial(n - 1, 2^-k):

    the pairs of the batch with the anchor's code are at one point and cannot be told apart.

    Args:
      num_bits: k >= 0.
      batch_size: n >= 1 pairs.

    Returns:
      A Python float in nats, the mean over anchors; log(2n - 1) at 0 bits.

    Source: Chen 2021, Appendix B.3, in closed form.
    """
    others = np.arange(batch_size)
    shares = stats.binom.pmf(others, batch_size - 1, 0.5**num_bits)
    return float(np.sum(shares * np.log(2 * others + 1)))
