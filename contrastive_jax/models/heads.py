"""Projection heads: from features h to the projections z that the loss sees."""

from collections.abc import Sequence

import flax.linen as nn


class ProjectionHead(nn.Module):
    """Dense layers without bias; batch norm and ReLU behind every one but the last.

    With two widths it is also BYOL's predictor, from z to q(z) for `losses.byol_regression`:
    dense, batch norm, ReLU, dense (Grill et al. 2020; widths 4096 and 256). Batch norm takes out
    any bias of the first layer.

    Attributes:
      widths: of each layer; the last is the dimension of z.
      batch_norm: makes a batch-norm layer, given `use_running_average`.
      kernel_init: of the dense kernels.
    """

    widths: Sequence[int]
    batch_norm: object
    kernel_init: nn.initializers.Initializer = nn.initializers.glorot_uniform()

    @nn.compact
    def __call__(self, features, train):
        """[n, f] to [n, widths[-1]]."""
        hidden = features
        for width in self.widths[:-1]:
            hidden = nn.Dense(width, use_bias=False, kernel_init=self.kernel_init)(hidden)
            hidden = nn.relu(self.batch_norm(use_running_average=not train)(hidden))
        return nn.Dense(self.widths[-1], use_bias=False, kernel_init=self.kernel_init)(hidden)
