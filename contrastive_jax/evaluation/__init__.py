"""Measurements of embeddings: arrays in, floats out. NumPy or JAX arrays from any framework."""

from contrastive_jax.evaluation.hardness import hardness
from contrastive_jax.evaluation.knn import knn_accuracy
from contrastive_jax.evaluation.linear_probe import linear_probe

__all__ = ['hardness', 'knn_accuracy', 'linear_probe']
