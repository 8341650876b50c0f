"""The generative half of a variational autoencoder: from features of an encoder back to images."""

import math
from collections.abc import Sequence

import flax.linen as nn
import jax
import jax.numpy as jnp

from contrastive_jax.errors import BadInput

# exp of a larger log variance counts as exp of this one, as in the loss.
LARGEST_LOG_VARIANCE = 60.0


class VariationalDecoder(nn.Module):
    """A normal code whose mean and log variance are linear in features, and a decoder of it.

      code = mean(h) + exp(log_variance(h) / 2) noise,    noise ~ N(0, 1)

    Attributes:
      image_shape: (h, w, c) of what is decoded.
      dimensions: k, of the code.
      widths: of the dense layers between the code and the image, each with a ReLU.
      constant_channels: how many of the image's channels, the last ones, are constant over its
        places: they are decoded once an image.
    """

    image_shape: tuple[int, int, int]
    dimensions: int
    widths: Sequence[int]
    constant_channels: int = 0

    @nn.compact
    def __call__(self, features, key):
        """Features [n, f] to the decoder's outputs [n, h, w, c], mean and log variance [n, k]."""
        mean = nn.Dense(self.dimensions, name='mean')(features)
        log_variance = nn.Dense(self.dimensions, name='log_variance')(features)
        noise = jax.random.normal(key, mean.shape, mean.dtype)
        hidden = mean + jnp.exp(jnp.minimum(log_variance, LARGEST_LOG_VARIANCE) / 2) * noise
        for width in self.widths:
            hidden = nn.relu(nn.Dense(width)(hidden))
        *places, channels = self.image_shape
        shape = (*places, channels - self.constant_channels)
        outputs = nn.Dense(math.prod(shape))(hidden).reshape(-1, *shape)
        if self.constant_channels:
            once = nn.Dense(self.constant_channels, name='constant')(hidden)[:, None, None]
            once = jnp.broadcast_to(once, (len(once), *places, self.constant_channels))
            outputs = jnp.concatenate([outputs, once], axis=-1)
        return outputs, mean, log_variance


def variational_decoder(image_shape, constant_channels=0, *, dimensions=32, widths=(256,)):
    """The options of `config.decoder` as a `VariationalDecoder` of images of a shape.

    Args:
      image_shape: (h, w, c), appended channels included.
      constant_channels: how many of the channels, the last ones, are constant over the places of
        each image, as those that a dataset appends.
      dimensions: of the code, at least 1.
      widths: of the dense layers between the code and the image; () for none.

    Raises:
      BadInput: a size below 1, or no channel that varies over the places.

    Source: Kingma and Welling 2014, App. C, whose decoder has one hidden layer.
    """
    if type(dimensions) is not int or dimensions < 1:
        raise BadInput(
            f'config.decoder.dimensions is {dimensions!r}; it must be a whole number of at least 1.'
        )
    several = isinstance(widths, tuple | list)
    if not several or not all(type(width) is int and width >= 1 for width in widths):
        raise BadInput(
            f'config.decoder.widths is {widths!r}; it must be numbers of at least 1, such as '
            '(256,), or () for none.'
        )
    if not 0 <= constant_channels < image_shape[-1]:
        raise BadInput(
            f'constant_channels is {constant_channels}; of images of {image_shape[-1]} channels it '
            f'must be from 0 to {image_shape[-1] - 1}.'
        )
    return VariationalDecoder(tuple(image_shape), dimensions, tuple(widths), constant_channels)
