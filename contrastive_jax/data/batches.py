"""Batches: batch k is a pure function of the source, the seed and k (Grain)."""

import grain
import numpy as np

from contrastive_jax.errors import BadInput


def train_batches(source, *, seed, batch_size, classes=None, host=0, num_hosts=1, shuffle=True):
    """An endless random-access sequence of training batches; `[k]` is batch k.

    Each epoch is a permutation of the source, another in each epoch; its remainder is dropped.
    With several hosts each gets its equal share of the rows of the same global batch.

    Args:
      source: a source with `take`.
      seed: of the order, an integer of 32 bits.
      batch_size: of all hosts together.
      classes: None, or an integer for each example [n]: then each row gets a partner of its class,
        another one drawn uniformly at each visit, as `partner_image` and so on. The only example
        of a class is its own partner; see `paired_by_class` for damaged images.
      host: the index of this host.
      num_hosts: the number of hosts.
      shuffle: False takes the examples in the order of the source, in every epoch.

    Returns:
      A `grain.MapDataset` of dicts of stacked arrays. Iterate it from a step on with
      `iterate`.

    Raises:
      BadInput: a batch larger than the source, or that the hosts do not divide.
    """
    order, mine = order_of(source, seed, batch_size, host, num_hosts, shuffle)
    if classes is None:
        return order.map(lambda ids: source.take(ids[mine]))
    partners = Partners(classes)

    def rows(ids, generator):
        drawn = partners(ids, generator)  # of the whole batch, whatever this host's share
        own = source.take(ids[mine])
        return paired_by_class(own, source.take(drawn[mine]), classes, lambda: own)

    return order.random_map(rows)


def paired(rows, partners):
    """One batch of rows and their partners, whose fields are named `partner_<field>`."""
    return rows | {f'partner_{name}': values for name, values in partners.items()}


def paired_by_class(rows, partners, classes, own):
    """`paired`, but for rows whose partner turned out to be of another class.

    A source may have put another example in the place of a damaged one. Where the two of a pair
    are therefore not of one class, the row is its own partner.

    Args:
      rows: a dict of stacked arrays [b, ...], with `id`.
      partners: the same of the partners.
      classes: integers [n], the class of each example.
      own: () -> the same of what partners such a row; called if there is one.

    Returns:
      A dict of arrays [b, ...].
    """
    strangers = classes[rows['id']] != classes[partners['id']]
    if strangers.any():
        instead = own()
        partners = {
            name: np.where(strangers.reshape(-1, *[1] * (values.ndim - 1)), instead[name], values)
            for name, values in partners.items()
        }
    return paired(rows, partners)


def order_of(source, seed, batch_size, host, num_hosts, shuffle=True):
    """The ids of all batches as a `grain.MapDataset`, and which of a batch are this host's."""
    check_batch(source, batch_size, num_hosts)
    share = batch_size // num_hosts
    # Indices are shuffled and batched first, then gathered once: for data in memory this is
    # several times faster than gathering each example.
    order = grain.MapDataset.range(len(source)).seed(seed % 2**32)
    if shuffle:
        order = order.shuffle(seed=seed % 2**32)
    order = order.batch(batch_size, drop_remainder=True).repeat()
    return order, slice(host * share, (host + 1) * share)


class Partners:
    """Draws another example of the same class.

    Args:
      classes: integer [n], the class of each example.
    """

    def __init__(self, classes):
        _, classes, counts = np.unique(classes, return_inverse=True, return_counts=True)
        self.members = np.argsort(classes, kind='stable')  # class after class
        self.starts = (np.cumsum(counts) - counts)[classes]  # of each example's class
        self.counts = counts[classes]
        self.places = np.empty_like(self.members)
        self.places[self.members] = np.arange(len(classes))

    def __call__(self, ids, generator):
        """A partner for each of `ids` [b], by a NumPy generator."""
        counts = self.counts[ids]
        ahead = generator.integers(1, np.maximum(counts, 2))
        places = self.places[ids] - self.starts[ids]
        return self.members[self.starts[ids] + (places + ahead) % counts]


def check_batch(source, batch_size, num_hosts=1):
    """Raises BadInput unless the source has that many examples and the hosts divide them."""
    if not 1 <= batch_size <= len(source):
        raise BadInput(
            f'config.batch_size is {batch_size}; {source.name} has {len(source)} examples, '
            f'so valid sizes are 1 to {len(source)}.'
        )
    if batch_size % num_hosts:
        raise BadInput(f'config.batch_size is {batch_size}, which {num_hosts} hosts do not divide.')


def iterate(orders, start):
    """Batches start, start + 1, ..., prepared ahead in a thread.

    Args:
      orders: dict of a prefix to a sequence of batches, as `train_batches` gives it; '' for the
        batch itself.
      start: the first index.

    Yields:
      One dict: the fields of batch k of each sequence, under its prefix.
    """
    options = grain.ReadOptions(num_threads=1, prefetch_buffer_size=2)
    streams = [iter(order[start:].to_iter_dataset(options)) for order in orders.values()]
    for parts in zip(*streams, strict=True):
        yield {
            prefix + name: array
            for prefix, part in zip(orders, parts, strict=True)
            for name, array in part.items()
        }


def evaluation_batches(source, *, batch_size, ids=None, host=0, num_hosts=1):
    """All examples in order, or those of `ids`, each exactly once.

    The last batch is padded with repeats of the first example to the full size; `weight` [b]
    float32 is 1 for an example and 0 for padding, and for the example that a source has put in
    the place of a damaged one.

    Args:
      source: a source with `take`.
      batch_size: of all hosts together.
      ids: int [k] of the examples; None for all.
      host: the index of this host.
      num_hosts: the number of hosts.

    Yields:
      Dicts of stacked arrays of batch_size // num_hosts rows.
    """
    share = batch_size // num_hosts
    ids = np.arange(len(source)) if ids is None else np.asarray(ids)
    padding = -len(ids) % batch_size
    taken = np.concatenate([ids, np.full(padding, ids[0])])
    wanted = np.concatenate([ids, np.full(padding, -1)])
    for start in range(host * share, len(taken), batch_size):
        batch = source.take(taken[start : start + share])
        # Neither padding nor another example than the one asked for is wanted at its place.
        weight = batch['id'] == wanted[start : start + share]
        yield {**batch, 'weight': weight.astype(np.float32)}
