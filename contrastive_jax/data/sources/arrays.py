"""Images and labels in memory."""

import dataclasses

import numpy as np

from contrastive_jax.errors import BadInput

# Decoded images are held in memory when they take at most this much.
SMALL_BYTES = 2 << 30


@dataclasses.dataclass(frozen=True)
class ArraySource:
    """Images and labels in memory.

    Attributes:
      images: uint8 [n, h, w, c].
      labels: integer [n], each in [0, num_classes); all -1 when there are none.
      num_classes: the number of classes, 0 for a source without labels.
      name: what to call it in reports.
    """

    images: np.ndarray
    labels: np.ndarray
    num_classes: int
    name: str = 'arrays'

    def __post_init__(self):
        if self.images.ndim != 4 or self.images.dtype != np.uint8:
            raise BadInput(
                f'images of {self.name} must be uint8 [n, h, w, c], got {self.images.dtype} '
                f'{self.images.shape}.'
            )
        if len(self.images) != len(self.labels) or not len(self.images):
            raise BadInput(
                f'{self.name} has {len(self.images)} images and {len(self.labels)} labels; '
                'the two numbers must be equal and not 0.'
            )
        check_labels(self.labels, self.num_classes, self.name)

    @property
    def image_shape(self):
        """(height, width, channels)."""
        return self.images.shape[1:]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return {
            'image': self.images[index],
            'label': np.int32(self.labels[index]),
            'id': np.int32(index),
        }

    def take(self, ids):
        """The examples of `ids` [b] as one dict of stacked arrays."""
        return {
            'image': self.images[ids],
            'label': self.labels[ids].astype(np.int32),
            'id': np.asarray(ids, np.int32),
        }


def check_labels(labels, num_classes, name):
    """Raises BadInput unless the labels are in [0, num_classes), or all -1 for no classes."""
    least, most = (0, num_classes - 1) if num_classes else (-1, -1)
    if labels.min() < least or labels.max() > most:
        raise BadInput(
            f'labels of {name} run from {labels.min()} to {labels.max()}; with {num_classes} '
            f'classes they must be {f"0 to {most}" if num_classes else "-1"}.'
        )


def unlabelled(images, name):
    """A source without labels, from images [n, h, w, c]."""
    return ArraySource(images, np.full(len(images), -1, np.int32), 0, name)


def check_option(name, value, least, most=2**31 - 1):
    """Raises BadInput unless an option of a source is an integer from `least` to `most`."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise BadInput(
            f'config.data.source has {name}={value!r}; it must be an integer from {least} to '
            f'{most}.'
        )


def check_fits(count, shape, source):
    """Raises BadInput unless so many images of a shape can be held in memory."""
    if count * int(np.prod(shape, dtype=np.int64)) > SMALL_BYTES:
        raise BadInput(
            f'config.data.source is {source!r}: {count} images of {tuple(shape)} take more than '
            f'the {SMALL_BYTES >> 30} GiB that a set in memory may take.'
        )
