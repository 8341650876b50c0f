"""How much mutual information a contrastive loss of K pairs can show at all."""

import math

import numpy as np
from scipy import stats

from contrastive_jax.errors import BadInput
from contrastive_jax.losses.mutual_information import UNITS

# How many candidates an anchor has among K pairs; the bound is the logarithm minus the loss.
CANDIDATES = {'nt_xent': lambda k: 2 * k - 1, 'info_nce': lambda k: k}

# An estimate is saturated from this far below a ceiling, or where twice the pairs add this share.
SATURATION = 0.05


def ideal_class_estimate(num_classes, num_pairs, *, temperature=0.0, unit='nats'):
    """What NT-Xent estimates of an encoder that maps each class to one point and no two together.

      log(2K - 1) - E log(1 + 2B + 2 (K - 1 - B) exp(-C / ((C - 1) tau))),   B ~ Bin(K - 1, 1 / C)

    for same-class pairs of C equally frequent classes, their points the corners of a regular
    simplex of unit rows. It grows with K to log C, which it may exceed by some thousandths.

    With C = math.inf each pair is a class of its own and negatives are orthogonal: the ceiling that
    tau sets. No unit rows exceed it on average over batches of independent pairs: two
    independent rows have a mean cosine of |E u|^2 >= 0, and L is convex in the cosines.

    Args:
      num_classes: C >= 2, or math.inf.
      num_pairs: K >= 2.
      temperature: tau >= 0; 0 is the limit, where other classes do not count.
      unit: 'nats' or 'bits'.

    Returns:
      A float in `unit`.

    Raises:
      BadInput: an option out of its range.

    Source: Lee 2023, Eq. 4 and Theorem III.1, Fig. 4 (the curve over K).
    """
    if num_classes < 2 or num_pairs < 2 or not temperature >= 0 or unit not in UNITS:
        raise BadInput(
            f'num_classes is {num_classes}, num_pairs {num_pairs}, temperature {temperature} and '
            f'unit {unit!r}; the first two must be at least 2, the third at least 0, the last one '
            f'of: {", ".join(UNITS)}.'
        )
    same = np.arange(num_pairs)
    distance = 1.0 if math.isinf(num_classes) else num_classes / (num_classes - 1)
    other = math.exp(-distance / temperature) if temperature else 0.0
    loss = np.log1p(2 * same + 2 * (num_pairs - 1 - same) * other)
    weight = stats.binom.pmf(same, num_pairs - 1, 1 / num_classes)
    return float(math.log(2 * num_pairs - 1) - weight @ loss) / UNITS[unit]


def ceilings(bound, num_pairs, temperature):
    """The two ceilings of an estimate from K pairs, in nats.

    Args:
      bound: 'nt_xent' or 'info_nce'.
      num_pairs: K.
      temperature: tau of cosines, or NaN for none.

    Returns:
      A dict of `ceiling_nats`, the logarithm of the candidates, and `temperature_ceiling_nats`,
      NaN without a temperature.
    """
    allowed = math.nan
    if not math.isnan(temperature):
        allowed = ideal_class_estimate(math.inf, num_pairs, temperature=temperature)
    return {
        'ceiling_nats': math.log(CANDIDATES[bound](num_pairs)),
        'temperature_ceiling_nats': allowed,
    }


def near_a_ceiling(nats, found):
    """Whether an estimate is within 5 % of one of the `ceilings`."""
    return any(nats >= (1 - SATURATION) * ceiling for ceiling in found.values())
