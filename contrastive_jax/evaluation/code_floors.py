"""How far codes of k bits can be spread over the sphere: where the distribution term saturates."""

import math

import numpy as np
from scipy import stats
from scipy.special import logsumexp

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.uniformity import uniformity_of_sphere


def log_sum_exp_of_codes(num_bits, batch_size, *, temperature, dimensions):
    """Idealised least log-sum-exp of an encoder that sees one of 2^k equally likely codes.

      E log( M e^(1/tau) + (n - M) e^c ) - log d,   M - 1 ~ Binomial(n - 1, 2^-k):

    the M rows of the batch with the anchor's code are at one point, the others at exp(cos / tau)
    of e^c, the least mean over distinct pairs that 2^k points can have: the larger of a simplex's,
    cos = -1 / (2^k - 1), which up to d + 1 points attain, and of what leaves the mean over all
    pairs, itself included, that of a uniform sphere. Beyond d + 1 points it is a bound, hardly
    missed, of the mean; that rows differ in how close the others are is left out. Bits may be
    ignored: where fewer give less, that is it.

    Args:
      num_bits: k >= 0, whole.
      batch_size: n >= 1 rows, each with a code of its own draw.
      temperature: tau > 0.
      dimensions: d >= 1 of the projections.

    Returns:
      A float in nats, in the units of `losses.distribution_matching` with 'log_sum_exp': the row
      itself is in, and log d is taken off.

    Raises:
      BadInput: a number out of range.

    Source: Chen 2021, Appendix B.2 and Figure B.3 (curves without a formula); ours, by convexity
      and by the uniform sphere's least energy (Wang and Isola 2020, Proposition 1).
    """
    if num_bits < 0 or batch_size < 1 or not 0 < temperature < math.inf:
        raise BadInput(
            f'num_bits is {num_bits}, batch_size {batch_size} and temperature {temperature}; they '
            'must be at least 0, at least 1, and positive and finite.'
        )
    values = [_of_all(bits, batch_size, temperature, dimensions) for bits in range(num_bits + 1)]
    return min(values) - math.log(dimensions)


def _of_all(bits, batch_size, temperature, dimensions):
    """E log( M e^(1/tau) + (n - M) e^c ) of an encoder that ignores none of the bits."""
    codes, own = 2.0**bits, 1 / temperature
    same = np.arange(1, batch_size + 1)
    shares = stats.binom.pmf(same - 1, batch_size - 1, 1 / codes)
    other = -np.inf
    if codes > 1:
        sphere = uniformity_of_sphere(dimensions, own / 2) + own  # log E exp(cos / tau)
        # (2^k times the sphere's mean, less the point itself) / (2^k - 1), where it is positive.
        whole = math.log(codes) + sphere
        left = whole + math.log1p(-math.exp(own - whole)) if whole > own else -np.inf
        other = max(-own / (codes - 1), left - math.log(codes - 1))
    with np.errstate(divide='ignore'):
        rows = logsumexp([np.log(same) + own, np.log(batch_size - same) + other], axis=0)
    return float(shares @ rows)
