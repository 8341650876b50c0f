"""The small convolutional network of the RandBit notebook, with its projection head."""

import functools
from collections.abc import Sequence

import flax.linen as nn

from contrastive_jax.models.convolution import Convolution
from contrastive_jax.models.heads import ProjectionHead


class ConvNet(nn.Module):
    """Strided 3x3 convolutions, one dense layer to h, and a projection head to z.

    Attributes:
      channels: of each convolution, all of stride 2.
      features: dimension of h.
      head_widths: of the projection head; the last is the dimension of z.
      momentum: of the batch norm's moving averages.
      average_places: whether the dense layer sees the mean over all places, not each place.
      constant_channels: how many of the images' channels, the last ones, are constant.
    """

    channels: Sequence[int]
    features: int
    head_widths: Sequence[int]
    momentum: float
    average_places: bool = False
    constant_channels: int = 0

    @nn.compact
    def __call__(self, images, train):
        """Images [n, h, w, c] to features h [n, features] and projections z [n, d]."""
        batch_norm = functools.partial(nn.BatchNorm, momentum=self.momentum, epsilon=1e-3)
        least = 2 ** (len(self.channels) + 1) - 1
        if min(images.shape[1:3]) < least:
            raise ValueError(
                f'convnet needs images of at least {least} x {least} pixels for its '
                f'{len(self.channels)} convolutions, got {images.shape[1]} x {images.shape[2]}.'
            )
        hidden = images
        for group, channels in enumerate(self.channels, 1):
            constant = self.constant_channels if group == 1 else 0
            hidden = Convolution(channels, 3, stride=2, constant_channels=constant)(hidden)
            hidden = nn.relu(batch_norm(use_running_average=not train)(hidden))
            # For whoever asks for intermediates, by the name that residual networks have for it.
            self.sow('intermediates', f'block_group_{group}', hidden)
        hidden = hidden.mean((1, 2)) if self.average_places else hidden.reshape(len(hidden), -1)
        hidden = nn.Dense(
            self.features, use_bias=False, kernel_init=nn.initializers.glorot_uniform()
        )(hidden)
        features = nn.relu(batch_norm(use_running_average=not train)(hidden))
        return features, ProjectionHead(self.head_widths, batch_norm)(features, train)


def convnet(
    *,
    channels=(32, 64, 64),
    features=128,
    head_widths=(256, 64),
    momentum=0.9,
    average_places=False,
    constant_channels=0,
):
    """The RandBit notebook's network: 28x28 images to h [n, 128] and z [n, 64].

    Args:
      channels: of each stride-2 3x3 convolution (no bias, batch norm, ReLU).
      features: dimension of h (dense, batch norm, ReLU).
      head_widths: of the projection head; the last is the dimension of z.
      momentum: of the batch norm's moving averages. The notebook has 0.99, which needs more steps
        than a laptop run has: after 250 steps a twelfth of the average is still the initial value.
      average_places: whether the dense layer sees the mean over all places of the last convolution,
        as in residual networks: then h hardly depends on where something stands, and a few hundred
        steps are enough where objects may stand anywhere. The notebook's sees each place.
      constant_channels: how many of the images' channels, the last ones, are constant over the
        places of each image, as those that a dataset appends; not an option of a config, which
        need not say it. 10 bits then cost a step next to nothing
        (`python -m benchmarks.randbit_notebook`).

    Returns:
      A Linen module: apply(variables, images [n, h, w, c], train) -> (h, z).

    Raises:
      ValueError: images too small for the convolutions, while tracing.

    Source: Chen 2021, the official RandBit notebook (section 3 of its network's description).
    """
    return ConvNet(
        tuple(channels), features, tuple(head_widths), momentum, average_places, constant_channels
    )
