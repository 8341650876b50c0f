"""Encoders: what `config.model.name` may say."""

from contrastive_jax.models.convnet import convnet
from contrastive_jax.models.mlp import mlp

__all__ = ['convnet', 'mlp']
