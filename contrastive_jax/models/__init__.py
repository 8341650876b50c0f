"""Encoders: what `config.model.name` may say."""

from contrastive_jax.models.convnet import convnet
from contrastive_jax.models.mlp import mlp
from contrastive_jax.models.resnet import resnet

__all__ = ['convnet', 'mlp', 'resnet']
