"""Training batches of random crops made on the host, for photographs too large for the device."""

from contrastive_jax.data import batches


def crop_batches(
    source, *, seed, batch_size, classes=None, host=0, num_hosts=1, shuffle=True, **ranges
):
    """An endless random-access sequence of batches of pairs of crops; `[k]` is batch k.

    The order, the partners and the fields are those of `batches.train_batches`; without `classes`
    the partner of a row is another crop of the same decoded image, of the same id and label. Crops
    are a function of seed, k and the place in the batch, whatever the number of hosts.

    Args:
      source: an `EncodedSource`; its `image_shape` is that of a crop.
      seed: an integer of 32 bits.
      batch_size: of all hosts together.
      classes: None, or an integer for each example [n]: see `batches.train_batches`.
      host: the index of this host.
      num_hosts: the number of hosts.
      shuffle: see `batches.train_batches`.
      **ranges: `area_range` and `aspect_range` of `host_crops.decode_and_crop`.

    Returns:
      A `grain.MapDataset` of dicts of `image` uint8 [b, h, w, c], `label` and `id` int32 [b], and
      the same with `partner_` before their names; b is batch_size // num_hosts.

    Raises:
      BadInput: a batch that the source or the hosts cannot fill.
    """
    order, mine = batches.order_of(source, seed, batch_size, host, num_hosts, shuffle)
    partners = None if classes is None else batches.Partners(classes)

    def crops(ids, seeds, count):
        rows = source.crops(ids[mine], seeds[mine], crops=count, **ranges)
        return [{**rows, 'image': rows['image'][:, k]} for k in range(count)]

    def rows(ids, generator):
        # Drawn for the whole batch, whatever this host's share.
        seeds = generator.integers(0, 2**63, (2, len(ids)))
        if partners is None:
            return batches.paired(*crops(ids, seeds[0], 2))
        (own,), (others,) = crops(ids, seeds[0], 1), crops(partners(ids, generator), seeds[1], 1)
        return batches.paired_by_class(own, others, classes, lambda: crops(ids, seeds[0], 2)[1])

    return order.random_map(rows)
