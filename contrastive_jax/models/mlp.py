"""A multilayer perceptron, for data that are vectors."""

from collections.abc import Sequence

import flax.linen as nn

from contrastive_jax.errors import BadInput


class MultilayerPerceptron(nn.Module):
    """Dense layers, a leaky ReLU behind every one but the very last.

    Attributes:
      widths: of the encoder's layers; the last is the dimension of h.
      head_widths: of the layers from h to z; () makes z and h the same.
      slope: of the leaky ReLU below 0.
      use_bias: whether the layers have biases.
    """

    widths: Sequence[int]
    head_widths: Sequence[int]
    slope: float
    use_bias: bool

    @nn.compact
    def __call__(self, images, train):
        """Images [n, ...] to features h [n, widths[-1]] and projections z [n, d]."""
        del train  # nothing here knows the batch
        layers = (*self.widths, *self.head_widths)
        hidden = images.reshape(len(images), -1)
        outputs = []
        for number, width in enumerate(layers):
            hidden = nn.Dense(width, use_bias=self.use_bias)(hidden)
            if number < len(layers) - 1:
                hidden = nn.leaky_relu(hidden, self.slope)
            outputs.append(hidden)
        return outputs[len(self.widths) - 1], outputs[-1]


def mlp(*, widths=(100, 500, 500, 500, 500, 100), head_widths=(10,), slope=0.01, use_bias=True):
    """Flattens its input, then dense layers: vectors to h [n, widths[-1]] and z [n, d].

    Args:
      widths: of the encoder's layers, at least one; the last is the dimension of h. The defaults
        make Rusak 2022's encoder in the form that its code has for 10 dimensions; in the paper's
        words all 7 layers are as wide as the data, (10,) * 6 and head (10,).
      head_widths: of the layers from h to z; () makes z and h the same, the last linear layer.
      slope: of the leaky ReLU below 0; 0 is the ReLU of Wu 2020's toys.
      use_bias: whether the layers have biases. Without, and with widths (8,) and head (), this is
        Rusak 2022's linear encoder of 8 dimensions.

    Returns:
      A Linen module: apply(variables, images [n, ...], train) -> (h, z). h is behind its leaky
      ReLU unless it is also z.

    Raises:
      BadInput: no widths, or a width below 1.

    Source: Rusak 2022 (7 layers for its nonlinear data); Wu 2020, its toys (5 layers).
    """
    if not widths or min(*widths, *head_widths, 1) < 1:
        raise BadInput(
            f'config.model.widths is {tuple(widths)} and head_widths {tuple(head_widths)}; every '
            'width must be at least 1, and widths must have one.'
        )
    return MultilayerPerceptron(tuple(widths), tuple(head_widths), float(slope), use_bias)
