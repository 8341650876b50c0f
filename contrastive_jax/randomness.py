"""Every random draw comes from one seed, a role and a number: the step or the example's id.

So nothing depends on the number of devices or hosts, on the order of calls, or on whether a run
was interrupted, and two roles never share a draw.
"""

import enum

import jax


class Role(enum.IntEnum):
    """What a draw is for. The values are part of every result: append, never renumber."""

    PARAMETERS = 0
    TRAIN_EXAMPLES = 1
    TEST_EXAMPLES = 2
    FIRST_VIEW = 3
    SECOND_VIEW = 4
    LOSS = 5
    VISIT = 6
    FIRST_COMPOSITION = 7
    SECOND_COMPOSITION = 8
    PARTNERS = 9
    NEGATIVES = 10
    BESIDE = 11
    MEMORY = 12
    MEMORY_SETS = 13
    CLUSTERS = 14
    BESIDE_DRAWS = 15


SPLIT_ROLES = {'train': Role.TRAIN_EXAMPLES, 'test': Role.TEST_EXAMPLES}


def key_for(seed, role, *numbers):
    """The key of a role: fold_in of the seed's key, the role and then each number.

    Args:
      seed: an integer, or a key made from it.
      role: a `Role`.
      *numbers: integers, traced or not: a step, an example's id.

    Returns:
      A key.
    """
    key = jax.random.key(seed) if isinstance(seed, int) else seed
    for number in (int(role), *numbers):
        key = jax.random.fold_in(key, number)
    return key


def keys_for_examples(key, ids):
    """One key an example: fold_in of `key` and each id [n], returned as keys [n]."""
    return jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, ids)
