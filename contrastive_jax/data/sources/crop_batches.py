"""Training batches of random crops made on the host, for photographs too large for the device."""

from contrastive_jax.data import batches


def crop_batches(source, *, seed, batch_size, crops=2, size=224, host=0, num_hosts=1, **ranges):
    """An endless random-access sequence of batches of crops; `[k]` is batch k.

    The order is that of `batches.train_batches`; `batches.iterate` prepares batches ahead. Crops
    are a function of seed, k and the place in the batch, whatever the number of hosts.

    Args:
      source: an `EncodedSource`.
      seed: an integer of 32 bits.
      batch_size: of all hosts together.
      crops: of each example, all of one decode.
      size: height and width of a crop.
      host: the index of this host.
      num_hosts: the number of hosts.
      **ranges: `area_range` and `aspect_range` of `host_crops.decode_and_crop`.

    Returns:
      A `grain.MapDataset` of dicts: `image` uint8 [batch_size // num_hosts, crops, size, size, c],
      `label` and `id` int32 [batch_size // num_hosts].

    Raises:
      BadInput: a batch that the source or the hosts cannot fill.
    """
    order, mine = batches.order_of(source, seed, batch_size, host, num_hosts)

    def rows(ids, generator):
        seeds = generator.integers(0, 2**63, len(ids))  # of the whole batch, whatever the share
        return source.crops(ids[mine], seeds[mine], crops=crops, size=size, **ranges)

    return order.random_map(rows)
