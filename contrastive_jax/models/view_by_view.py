"""A network that sees the views of a batch one after another, each with statistics of its own."""

import flax.linen as nn
import jax.numpy as jnp


class ViewByView(nn.Module):
    """A network that batch norm makes see each view by itself while it trains.

    The moving averages then move once for each view. Without batch norm, and in inference mode, it
    is the network.

    Attributes:
      network: Linen module, (images, train) -> (h, z).
      num_views: rows k i to k i + k - 1 of a batch are the k views of example i.

    Source: Chen 2021, the RandBit notebook, which calls its network once for each view.
    """

    network: nn.Module
    num_views: int = 2

    @nn.compact
    def __call__(self, images, train):
        """Images [k n, h, w, c] to h [k n, f] and z [k n, d]."""
        if not train:
            return self.network(images, train)
        outputs = [self.network(images[k :: self.num_views], train) for k in range(self.num_views)]
        return tuple(
            jnp.stack(views, axis=1).reshape(len(images), -1)
            for views in zip(*outputs, strict=True)
        )
