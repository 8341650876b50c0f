"""Images kept as encoded files and decoded when asked for: sets that do not fit in memory."""

import concurrent.futures
import dataclasses
import functools
import os
import threading
import warnings
from collections.abc import Callable

import numpy as np
from PIL import Image
from tqdm import tqdm

from contrastive_jax.data import cache
from contrastive_jax.data.sources import arrays
from contrastive_jax.data.sources.host_crops import decode, decode_and_crop
from contrastive_jax.errors import BadInput

# So many damaged images are skipped; a larger set may have one in a hundred.
LEAST_LIMIT, SHARE = 10, 100

# What Pillow raises for one or another kind of damage.
DAMAGE = (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError)


class DamagedImages:
    """Counts the images of a set that cannot be decoded.

    Args:
      name: of the set.
      count: of its examples.
    """

    def __init__(self, name, count):
        self.name, self.limit = name, max(LEAST_LIMIT, count // SHARE)
        self.seen = {}
        self.lock = threading.Lock()

    def report(self, example, error):
        """Warns of a damaged example at its first sight; BadInput when they are too many."""
        with self.lock:
            if example in self.seen:
                return
            self.seen[example] = str(error)
            count = len(self.seen)
        if count > self.limit:
            raise BadInput(
                f'{self.name} has more than {self.limit} damaged images, so it is not read '
                f'further: {", ".join(sorted(self.seen)[:5])}, ...'
            )
        warnings.warn(
            f'{self.name}: {example} is damaged and skipped ({error}); {count} so far.',
            stacklevel=2,
        )


@dataclasses.dataclass(frozen=True)
class EncodedSource:
    """Encoded images and their labels; `take` decodes in threads.

    The row of a damaged image holds the next readable example instead, with its label and id, so
    that batches keep their size; `damaged` counts and reports each once. Whoever counts examples
    compares the `id` of a row with the one asked for, as `batches.evaluation_batches` does.

    Attributes:
      read: (position) -> (what to call the example, the bytes of its image file).
      labels: int32 [n], as in `ArraySource`.
      num_classes: the number of classes.
      image_shape: (height, width, channels) that images are decoded to.
      fit: how they get there, see `host_crops.decode`.
      name: what to call it in reports.
      damaged: the `DamagedImages` of this source.
    """

    read: Callable
    labels: np.ndarray
    num_classes: int
    image_shape: tuple
    fit: str = 'stretch'
    name: str = 'encoded'
    damaged: DamagedImages = None

    def __post_init__(self):
        if not len(self.labels):
            raise BadInput(f'{self.name} has no examples.')
        arrays.check_labels(self.labels, self.num_classes, self.name)
        object.__setattr__(self, 'damaged', DamagedImages(self.name, len(self.labels)))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {name: values[0] for name, values in self.take(np.array([index])).items()}

    def take(self, ids):
        """The examples of `ids` [b] as one dict of stacked arrays, images uint8 [b, h, w, c]."""
        return self._rows([(position, self._whole) for position in ids])

    def crops(self, ids, seeds, *, crops=2, **ranges):
        """Random crops of the examples of `ids`, several of one decode.

        Args:
          ids: integers [b].
          seeds: integers [b]; an example and its seed fix its crops.
          crops: of each example.
          **ranges: `area_range` and `aspect_range` of `host_crops.decode_and_crop`.

        Returns:
          A dict of `image` uint8 [b, crops, h, w, c], `label` and `id` int32 [b].
        """

        def cropper(seed):
            return lambda data: decode_and_crop(
                data, np.random.default_rng(seed), self.image_shape, crops=crops, **ranges
            )

        return self._rows([(at, cropper(seed)) for at, seed in zip(ids, seeds, strict=True)])

    def decode_all(self):
        """Every readable image and its label, as a dict of arrays; damaged ones are left out."""
        images = np.empty((len(self), *self.image_shape), np.uint8)
        readable = np.zeros(len(self), bool)

        def fill(position):
            image = self._try(position, self._whole)
            if image is not None:
                images[position], readable[position] = image, True

        positions = tqdm(range(len(self)), desc=f'decoding {self.name}', unit='image')
        for _ in decoders().map(fill, positions):
            pass
        if not readable.all():
            images = images[readable]
        return {'images': images, 'labels': self.labels[readable]}

    def _whole(self, data):
        return decode(data, self.image_shape, self.fit)

    def _rows(self, requests):
        rows = list(decoders().map(lambda request: self._readable(*request), requests))
        positions = np.array([position for position, _ in rows], np.int32)
        return {
            'image': np.stack([image for _, image in rows]),
            'label': self.labels[positions],
            'id': positions,
        }

    def _readable(self, position, use):
        """(position, result) of the first readable example from `position` on."""
        for step in range(len(self)):
            at = (int(position) + step) % len(self)
            result = self._try(at, use)
            if result is not None:
                return at, result
        raise BadInput(f'{self.name} has no image that can be decoded.')

    def _try(self, position, use):
        example, data = self.read(position)
        try:
            return use(data)
        except DAMAGE as error:
            self.damaged.report(example, error)
            return None


@functools.cache
def decoders():
    """Threads to decode in, one a core: Pillow lets go of Python's lock while it decodes."""
    return concurrent.futures.ThreadPoolExecutor(os.cpu_count(), 'decode')


def in_memory_if_small(source, cache_name, fingerprint):
    """An `ArraySource` of a set decoded once and cached, or the source itself if it is large."""
    size = len(source) * int(np.prod(source.image_shape, dtype=np.int64))
    if size > arrays.SMALL_BYTES:
        return source
    text = f'{fingerprint} {source.image_shape} {source.fit}'
    kept = cache.load_or_make(cache_name, text, source.decode_all)
    if not len(kept['labels']):
        raise BadInput(f'{source.name} has no image that can be decoded.')
    return arrays.ArraySource(kept['images'], kept['labels'], source.num_classes, source.name)
