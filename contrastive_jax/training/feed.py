"""What a run reads: the batches of its source, and of what stands beside."""

import jax

from contrastive_jax.data import batches


def train_orders(experiment, *, seed, batch_size, classes=None):
    """The sequences of batches that a train step takes, as `batches.iterate` joins them.

    Args:
      experiment: a `build.Experiment`.
      seed: of the run.
      batch_size: of all hosts together.
      classes: an integer for each example [n], where partners are of one class; or None.

    Returns:
      Dict of a prefix to an endless sequence of this host's share of the batches.
    """
    share = dict(batch_size=batch_size, host=jax.process_index(), num_hosts=jax.process_count())
    source = experiment.train.source
    orders = {'': batches.train_batches(source, seed=seed, classes=classes, **share)}
    if experiment.negatives:
        # By a seed of its own: where both are of one source, their batches must differ.
        source = experiment.negatives.source
        orders['negative_'] = batches.train_batches(source, seed=seed + 2**31, **share)
    return orders
