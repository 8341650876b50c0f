"""One probe for every factor of the data."""

import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.linear_probe import linear_probe
from contrastive_jax.evaluation.rows import checked_labels


def probe_factors(train, train_factors, test, test_factors, *, probe=linear_probe):
    """What a probe reads of each factor from the same embeddings.

    Args:
      train: embeddings [n, d].
      train_factors: dict of factor name to [n].
      test: embeddings [m, d].
      test_factors: dict of the same names to [m].
      probe: (train, train_labels, test, test_labels) -> results, such as `linear_probe`,
        `sgd_probe` or a partial of them.

    Returns:
      dict of `results`, factor name to what the probe returns, and `left_out`, factor name to the
      reason in a few words: a factor of one value, of as many values as rows (an id), or whose
      values are not one integer a row.

    Raises:
      BadInput: no factors, names that differ between the sets, or what the probe refuses.
    """
    if set(train_factors) != set(test_factors) or not train_factors:
        raise BadInput(
            'train and test factors must be the same, at least one; got '
            f'{sorted(train_factors)} and {sorted(test_factors)}.'
        )
    results, left_out = {}, {}
    for name, values in train_factors.items():
        if reason := _unfit(values, len(train)) or _unfit(test_factors[name], len(test), least=1):
            left_out[name] = reason
        else:
            results[name] = probe(train, values, test, test_factors[name])
    return {'results': results, 'left_out': left_out}


def _unfit(values, count, least=2):
    """Why a factor cannot be told apart from `count` rows, or an empty string."""
    try:
        found = len(np.unique(checked_labels(values, count, 'values')))
    except BadInput as error:
        return str(error)
    if found < least:
        return 'one value in all training rows'
    if least > 1 and found == count:
        return f'a value of its own in each of the {count} training rows'
    return ''
