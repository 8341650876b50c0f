"""Probing datasets: sources whose factors are known. What `config.data.probing` may say."""

from contrastive_jax.data.probing.plain import plain
from contrastive_jax.data.probing.randbit import randbit

__all__ = ['plain', 'randbit']
