"""Two encoders: each sees its channels and what both see, nothing else."""

import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax import models
from contrastive_jax.models.two_encoders import TwoEncoders


def test_each_output_depends_on_its_own_and_the_shared_channels(key):
    pair = TwoEncoders(
        models.mlp(widths=(5,), head_widths=(3,)), models.mlp(widths=(4,), head_widths=(3,)), (1, 2)
    )
    images = jax.random.normal(key, (2, 3, 3, 4))
    variables = pair.init(key, images, train=False)
    h, z = pair.apply(variables, images, train=False)
    assert (h.shape, z.shape) == ((2, 9), (2, 6))

    def changed(channel):
        """Whether the outputs of the first and of the second encoder change with a channel."""
        others = images.at[..., channel].add(jnp.float32(1))
        h_there, z_there = pair.apply(variables, others, train=False)
        parts = [(h[:, :5], h_there[:, :5]), (z[:, :3], z_there[:, :3])]
        parts += [(h[:, 5:], h_there[:, 5:]), (z[:, 3:], z_there[:, 3:])]
        equal = [bool(np.all(a == b)) for a, b in parts]
        assert equal[0] == equal[1]
        assert equal[2] == equal[3]
        return not equal[0], not equal[2]

    assert [changed(channel) for channel in range(4)] == [
        (True, False), (False, True), (False, True), (True, True)
    ]  # fmt: skip
    alone = models.mlp(widths=(5,), head_widths=(3,))
    of_first = {'params': variables['params']['first']}
    expected = alone.apply(of_first, images[..., jnp.array([0, 3])], train=False)[0]
    np.testing.assert_allclose(h[:, :5], expected, atol=1e-6)
