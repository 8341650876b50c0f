"""Projection heads: from features h to the projections z that the loss sees."""

import functools
from collections.abc import Sequence

import flax.linen as nn

from contrastive_jax.errors import BadInput


class ProjectionHead(nn.Module):
    """Dense layers, a ReLU behind every one but the last.

    With a batch norm the layers have no biases, which it would take out, and it stands before each
    ReLU. With two widths that is also BYOL's predictor, from z to q(z) for
    `losses.byol_regression` (Grill et al. 2020; widths 4096 and 256).

    Attributes:
      widths: of each layer; the last is the dimension of z.
      batch_norm: makes a batch-norm layer, given `use_running_average`; None leaves it out and
        gives the layers biases.
      kernel_init: of the dense kernels.
      last_batch_norm: whether a batch norm with a scale but no bias stands behind the last layer.
    """

    widths: Sequence[int]
    batch_norm: object
    kernel_init: nn.initializers.Initializer = nn.initializers.glorot_uniform()
    last_batch_norm: bool = False

    @nn.compact
    def __call__(self, features, train):
        """[n, f] to [n, widths[-1]]."""
        plain = self.batch_norm is None
        hidden = features
        for number, width in enumerate(self.widths, start=1):
            last = number == len(self.widths)
            hidden = nn.Dense(width, use_bias=plain, kernel_init=self.kernel_init)(hidden)
            if not plain and (not last or self.last_batch_norm):
                hidden = self.batch_norm(use_running_average=not train, use_bias=not last)(hidden)
            if not last:
                hidden = nn.relu(hidden)
        return hidden


def projection_head(layers, width, dimensions, batch_norm):
    """A function that makes a head once the dimension of h is known.

    The official SimCLR head is [dense, batch norm, ReLU] * (layers - 1), dense, batch norm: no
    dense layer has a bias, kernels start from N(0, 0.01^2), and the last batch norm has a scale but
    no bias. Without batch norm it is [dense, ReLU] * (layers - 1), dense, with biases and LeCun's
    initialisation: one layer is the linear head of Wang 2021 and Wu 2020, two that of Rusak 2022.

    Args:
      layers: how many dense layers, at least 0.
      width: of all but the last; None is as wide as h.
      dimensions: of z.
      batch_norm: which of the two forms.

    Returns:
      dimension of h -> Linen module, (h, train) -> z; or None for 0 layers.

    Raises:
      BadInput: a number of layers below 0, or a width below 1.

    Source: Chen 2021, the official code; Rusak 2022's code for CIFAR-10.
    """
    if layers < 0:
        raise BadInput(f'config.model.head_layers is {layers}; it must be at least 0.')
    if dimensions < 1 or (width is not None and width < 1):
        raise BadInput(
            f'config.model.dimensions is {dimensions} and head_width {width}; each must be at '
            'least 1.'
        )
    if not layers:
        return None

    def make(features):
        widths = (width or features,) * (layers - 1) + (dimensions,)
        if not batch_norm:
            kernel_init = nn.initializers.lecun_normal()
            return ProjectionHead(widths, None, kernel_init, name='head')
        norm = functools.partial(nn.BatchNorm, momentum=0.9, epsilon=1e-5)
        kernel_init = nn.initializers.normal(0.01)
        return ProjectionHead(widths, norm, kernel_init, last_batch_norm=True, name='head')

    return make
