"""What the battery cannot read from a signature: options of a loss, and its float64 reference."""

import jax

from tests.losses import bank_references, infonce_references, other_references

# Functions of a loss's value, not of examples: nothing to pair, permute or shard.
OF_A_VALUE = ('info_nce_bound', 'vince_bound')

# Sets of options that are all tried; other losses get the usual values of required options.
OPTIONS = {
    'annulus': [{}, {'include_positive': False}],
    'distribution_matching': [
        {'prior': 'uniform_hypersphere', 'distribution': 'log_sum_exp', 'temperature': 0.2},
        {'prior': 'normal', 'distribution': 'sliced_wasserstein', 'key': jax.random.key(0)},
    ],
    'generalized_contrastive': [
        {'prior': 'uniform_hypersphere', 'distribution': 'log_sum_exp', 'temperature': 0.2},
        *(
            {'prior': prior, 'distribution': 'sliced_wasserstein', 'key': jax.random.key(0)}
            for prior in ('uniform_hypersphere', 'uniform_hypercube', 'normal')
        ),
    ],
    'local_aggregation': [{'reduce': 'sum'}, {'reduce': 'mean'}],
    'nt_xent': [{}, {'similarity': 'standardized'}, {'similarity': 'inner_product'}],
}


def reference(name, options):
    """The loop in float64 for this loss, or None where its own test has another."""
    if options.get('distribution') == 'sliced_wasserstein':
        return None  # draws; tests/losses/generalized_test.py knows the draws
    for module in (infonce_references, bank_references, other_references):
        if hasattr(module, name):
            return getattr(module, name)
    return None
