"""Two encoders as one: each sees channels of its own, and their outputs lie side by side."""

import flax.linen as nn
import jax.numpy as jnp


class TwoEncoders(nn.Module):
    """Two encoders of the same image, the first channels for one and the next for the other.

    Attributes:
      first: Linen module, (images, train) -> (h, z).
      second: another one; they share no parameters.
      channels: how many channels each of them sees alone. Both see those behind them.

    Source: contrastive multiview coding (Tian et al. 2020), which evaluates the features of both
    side by side.
    """

    first: nn.Module
    second: nn.Module
    channels: tuple[int, int]

    @nn.compact
    def __call__(self, images, train):
        """Images [n, h, w, c] to h [n, f1 + f2] and z [n, 2d]: the first's, then the second's."""
        start, end = self.channels[0], sum(self.channels)
        shared = images[..., end:]
        outputs = [
            encoder(jnp.concatenate([own, shared], axis=-1), train)
            for encoder, own in (
                (self.first, images[..., :start]),
                (self.second, images[..., start:end]),
            )
        ]
        return tuple(jnp.concatenate(both, axis=-1) for both in zip(*outputs, strict=True))
