"""Encoders: what `config.model.name` may say."""

from contrastive_jax.models.convnet import convnet

__all__ = ['convnet']
