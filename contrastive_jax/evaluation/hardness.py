"""How a contrastive loss spreads its gradient over the negatives: Wang 2021's gradient ratio."""

import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.rows import checked_rows, unit_length
from contrastive_jax.evaluation.separation import checked_index

DECILES = 10


def hardness(anchors, keys, index=None, *, temperature, num_hard=None):
    """Gradient ratio of every negative, its entropy, and who receives the gradient.

    With s_ij the cosine of anchor i and key j, and p(i) the positive's key,

      r_ij = |dL/ds_ij| / |dL/ds_i,p(i)| = exp(s_ij / tau) / sum_{k != p(i)} exp(s_ik / tau)

    of the contrastive loss. r sums to one over the negatives. The hard contrastive loss has the
    same over its `num_hard` nearest negatives and zero elsewhere; the simple loss is the limit of
    an infinite temperature. Computed in float64.

    Args:
      anchors: [b, d] embeddings, arrays of any framework; rows are scaled to unit length.
      keys: [N, d], N >= 2: the other views, or a bank.
      index: [b] integers, the key that is each anchor's positive; None where b = N and key i is
        anchor i's.
      temperature: tau > 0; math.inf for the simple loss.
      num_hard: negatives that count, at most N - 1; None for all.

    Returns:
      A dict of
        gradient_ratio: r_ij [b, N], zero at the positive;
        entropy: mean of H(r_i) in nats, at most log(N - 1);
        effective_negatives: mean of exp(H(r_i)), from 1 to N - 1;
        gradient_share: [10], mean share of the gradient on each tenth of the negatives in order
          of falling similarity, which sums to one; a negative between two tenths counts in both
          by its share.

    Raises:
      BadInput: shapes or options that do not fit, or rows that are not finite.

    Source: Wang 2021, Eq. 5 (r), Eq. 8 (hard loss), Section 3.2 (entropy).
    """
    anchors, keys = (
        unit_length(checked_rows(rows, name, least=least).astype(np.float64))
        for rows, name, least in ((anchors, 'anchors', 1), (keys, 'keys', 2))
    )
    index = checked_index(anchors, keys, index)
    negatives = keys.shape[0] - 1
    if not temperature > 0:
        raise BadInput(f'temperature must be positive, got {temperature}.')
    if num_hard is not None and not 1 <= num_hard <= negatives:
        raise BadInput(f'num_hard must be from 1 to {negatives} negatives, got {num_hard}.')
    similarity = anchors @ keys.T
    np.put_along_axis(similarity, index[:, None], -np.inf, axis=1)
    # Nearest first, ties by key, the positive last.
    order = np.argsort(-similarity, axis=1, kind='stable')[:, :negatives]
    nearest = np.take_along_axis(similarity, order, axis=1)
    weights = np.exp((nearest - nearest[:, :1]) / temperature)
    if num_hard is not None:
        weights[:, num_hard:] = 0
    weights /= weights.sum(axis=1, keepdims=True)
    ratio = np.zeros_like(similarity)
    np.put_along_axis(ratio, order, weights, axis=1)
    entropy = -np.sum(weights * np.log(np.where(weights > 0, weights, 1)), axis=1)
    reached = np.concatenate([np.zeros((len(weights), 1)), np.cumsum(weights, axis=1)], axis=1)
    edges = np.linspace(0, negatives, DECILES + 1)
    cumulative = np.interp(edges, np.arange(negatives + 1), reached.mean(axis=0))
    return {
        'gradient_ratio': ratio,
        'entropy': float(entropy.mean()),
        'effective_negatives': float(np.exp(entropy).mean()),
        'gradient_share': np.diff(cumulative),
    }
