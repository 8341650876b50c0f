"""Sources that compositions look up."""

import numpy as np

from contrastive_jax.errors import BadInput


def table_of(source, field):
    """The images and labels of a source as arrays.

    Args:
      source: a source in memory.
      field: the field of config.data that names it.

    Returns:
      dict of `images` uint8 [n, h, w, c] and `labels` int32 [n].

    Raises:
      BadInput: a source whose decoded images do not fit in memory, much less on every device.
    """
    if not hasattr(source, 'images'):
        raise BadInput(
            f'config.data.{field} is {source.name}, whose {len(source)} images of '
            f'{source.image_shape} are too many to be held in memory and looked up.'
        )
    return {'images': source.images, 'labels': np.asarray(source.labels, np.int32)}
