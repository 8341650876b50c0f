"""Local separation: how the positive stands against the negatives nearest to the anchor."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.rows import checked_rows, unit_length
from contrastive_jax.losses.similarities import inner_products

# Similarities that are held at once: 16 MiB of float32.
SIMILARITIES_AT_ONCE = 2**22


def local_separation(anchors, keys, index=None, *, count=10):
    """Mean similarity of the positive and of the nearest, second nearest, ... negative.

      positive = mean_i s_i,p(i)        negatives_k = mean_i (k-th largest s_ij over j != p(i))

    with s the cosine and p(i) the positive's key. A network whose loss looks at hard negatives
    only has a gap between the two, with a small temperature a wide one. Float32 products, block by
    block on the device; means in float64.

    Args:
      anchors: [b, d] embeddings, arrays of any framework: fresh views, for example. The cosine
        with a zero row is zero.
      keys: [N, d], N >= 2: the other views, or a bank.
      index: [b] integers, the key that is each anchor's positive; None where b = N and key i is
        anchor i's.
      count: K, the number of negatives, from 1 to N - 1.

    Returns:
      A dict of
        positive: float;
        negatives: [K] in falling order;
        positive_error: standard error of `positive` over the anchors, which covers the draw of
          independent anchors for these keys; zero for one anchor;
        negatives_error: [K], likewise.

    Raises:
      BadInput: shapes that do not match, rows that are not finite, an index or count out of range.

    Source: Wang 2021, Section 5.2, with K = 10.
    """
    anchors, keys = (
        unit_length(checked_rows(rows, name, least=least)).astype(np.float32)
        for rows, name, least in ((anchors, 'anchors', 1), (keys, 'keys', 2))
    )
    index = checked_index(anchors, keys, index)
    if not 1 <= count < len(keys):
        raise BadInput(f'count is {count}, outside 1..{len(keys) - 1}, the number of negatives.')
    rows_at_once = max(1, min(len(anchors), SIMILARITIES_AT_ONCE // len(keys)))
    found = _nearest(
        jnp.asarray(anchors),
        jnp.asarray(keys),
        jnp.asarray(index, jnp.int32),
        count=count,
        rows_at_once=rows_at_once,
    )
    positive, negatives = (np.asarray(values, np.float64) for values in found)
    return {
        'positive': float(positive.mean()),
        'negatives': negatives.mean(axis=0),
        'positive_error': float(_standard_error(positive)),
        'negatives_error': _standard_error(negatives),
    }


def checked_index(anchors, keys, index):
    """Which key is each anchor's positive, integers [b], or BadInput saying what is wrong.

    Args:
      anchors: [b, d].
      keys: [N, d].
      index: [b] integers in [0, N), or None where b = N and key i is anchor i's.
    """
    if anchors.shape[1] != keys.shape[1]:
        raise BadInput(
            f'anchors and keys must be [b, d] and [N, d], got {anchors.shape} and {keys.shape}.'
        )
    if index is None:
        if len(anchors) != len(keys):
            raise BadInput(
                f'index is required where anchors and keys differ in number, '
                f'got {len(anchors)} and {len(keys)}.'
            )
        return np.arange(len(anchors))
    index = np.asarray(index)
    inside = index.dtype.kind in 'iu' and np.all((index >= 0) & (index < len(keys)))
    if index.shape != (len(anchors),) or not inside:
        raise BadInput(
            f'index must be {len(anchors)} integers from 0 to {len(keys) - 1}, '
            f'got {index.dtype} of shape {index.shape}.'
        )
    return index


@functools.partial(jax.jit, static_argnames=('count', 'rows_at_once'))
def _nearest(anchors, keys, index, *, count, rows_at_once):
    """Similarity of the positive [b], and the largest of the negatives in falling order [b, K]."""

    def of_row(row):
        anchor, positive = row
        similarity = inner_products(anchor[None], keys)[0]
        others = similarity.at[positive].set(-jnp.inf)
        return similarity[positive], jax.lax.top_k(others, count)[0]

    return jax.lax.map(of_row, (anchors, index), batch_size=rows_at_once)


def _standard_error(values):
    """Of the mean over the first axis."""
    count = len(values)
    return np.std(values, axis=0) / np.sqrt(max(count - 1, 1))
