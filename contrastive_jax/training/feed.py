"""What a run is fed: batches of the source, or of crops that the host makes."""

import inspect
import io

import jax
import numpy as np
from PIL import Image

from contrastive_jax import names, views
from contrastive_jax.data import batches, sources
from contrastive_jax.data.probing.pixels import made_of_pixels
from contrastive_jax.data.sources.crop_batches import crop_batches
from contrastive_jax.data.sources.host_crops import decode_and_crop
from contrastive_jax.errors import BadInput
from contrastive_jax.views import crops


def bind_orders(config, train, negatives=None):
    """The training batches of a config.

    Args:
      config: a ConfigDict.
      train: the `ProbingDataset` to train on.
      negatives: the one that all negatives come from, or None.

    Returns:
      (function, crop_ranges): the function of `classes` (None, or an integer for each example,
      see `batches.train_batches`) gives a dict of a prefix to an endless sequence of this host's
      share of batches, which `batches.iterate` joins. They are of crops where `config.views` leaves
      the crops to the host, in the ranges of `host_crop_ranges`; which are None where it does not.

    Raises:
      BadInput: crops on the host of a dataset that has none; see `host_crop_ranges`.
    """
    shuffle = config.data.get('shuffle', True)
    if not isinstance(shuffle, bool):
        raise BadInput(f'config.data.shuffle is {shuffle!r}; it must be True or False.')
    datasets = {'': train} | ({'negative_': negatives} if negatives else {})
    ranges = {
        prefix: host_crop_ranges(config.views, dataset) for prefix, dataset in datasets.items()
    }
    # Negatives have a seed of their own: where both are of one source, their batches must differ.
    seeds = {'': config.seed, 'negative_': config.seed + 2**31}

    def orders(classes=None):
        share = dict(
            batch_size=config.batch_size, host=jax.process_index(), num_hosts=jax.process_count(),
            shuffle=shuffle,
        )  # fmt: skip
        of = {'': classes}
        return {
            prefix: (batches.train_batches if ranges[prefix] is None else crop_batches)(
                dataset.source,
                seed=seeds[prefix],
                classes=of.get(prefix),
                **share,
                **(ranges[prefix] or {}),
            )
            for prefix, dataset in datasets.items()
        }

    return orders, ranges['']


def host_crop_ranges(section, dataset):
    """`area_range` and `aspect_range` of the crops that `config.views` leaves to the host.

    Args:
      section: `config.views`; what it leaves out is the default of the view that it names.
      dataset: the `ProbingDataset` to train on.

    Returns:
      A dict, or None when the views crop on the device or not at all.

    Raises:
      BadInput: a source that is not encoded, or a dataset that makes more than its images of the
        pixels, which two crops do not share.
    """
    parameters = inspect.signature(names.pick(views, section.name, 'views.name')).parameters
    options = {name: parameter.default for name, parameter in parameters.items()}
    options |= dict(section.items())
    if options.get('law') != crops.HOST:
        return None
    others = ' or '.join(map(repr, crops.LAWS))
    if not isinstance(dataset.source, sources.EncodedSource):
        raise BadInput(
            f"config.views.law is 'host', which crops encoded images, but {dataset.source.name} "
            'is held decoded: use a source of over 2 GiB of decoded '
            f'images, such as tfds:imagenet2012,size=224, or the law {others}.'
        )
    if unshared := sorted(made_of_pixels(dataset) - {'image'}):
        raise BadInput(
            "config.views.law is 'host', by which the two sides of a pair differ in every pixel, "
            f'but config.data makes {" and ".join(unshared)} of the pixels: use the law {others}.'
        )
    return {name: options[name] for name in ('area_range', 'aspect_range')}


class CroppedOnHost:
    """A source whose rows are random crops, one or a pair of an image, outside training.

    They are made as `crop_batches` makes them, but drawn once for each example, whatever its batch.
    A split that is small enough to be held decoded is cropped from what is held.

    Args:
      source: any source of images.
      ranges: `area_range` and `aspect_range`, as `host_crop_ranges` gives them.
      entropy: integers; others draw other crops.
      crops: 1, or 2: then each row has a second crop as `partner_image` and so on.
    """

    def __init__(self, source, ranges, entropy, crops):
        self.source, self.ranges, self.entropy, self.num_crops = source, ranges, entropy, crops

    def __len__(self):
        return len(self.source)

    def take(self, ids):
        """As `take` of the source, of crops."""
        seeds = [int(np.random.SeedSequence((*self.entropy, i)).generate_state(1)[0]) for i in ids]
        rows = self.crops(ids, seeds)
        every = [{**rows, 'image': rows['image'][:, k]} for k in range(self.num_crops)]
        return batches.paired(*every) if self.num_crops == 2 else every[0]

    def crops(self, ids, seeds):
        """A dict of `image` [b, crops, h, w, c], `label` and `id`; see `EncodedSource.crops`."""
        if isinstance(self.source, sources.EncodedSource):
            return self.source.crops(ids, seeds, crops=self.num_crops, **self.ranges)
        rows, shape = self.source.take(ids), self.source.image_shape
        images = [
            decode_and_crop(
                encode(image),
                np.random.default_rng(seed),
                shape,
                crops=self.num_crops,
                **self.ranges,
            )
            for image, seed in zip(rows['image'], seeds, strict=True)
        ]
        return {**rows, 'image': np.stack(images)}


def encode(image):
    """A decoded image, uint8 [h, w, c], as the bytes of a file that loses nothing."""
    file = io.BytesIO()
    pixels = image[..., 0] if image.shape[-1] == 1 else image
    Image.fromarray(pixels).save(file, 'TIFF')
    return file.getvalue()
