"""The public list of losses: what `config.loss.name` may say.

Two-view training objectives take raw projections `z1, z2` [n, d], row i of both from example i,
and return `(scalar, parts)`: the mean over anchors in nats and a dict of named scalars.
"""

from contrastive_jax.losses.infonce import nt_xent

__all__ = ['nt_xent']
