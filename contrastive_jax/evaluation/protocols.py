"""Evaluation during and after training: what `config.evaluation.name` may say.

A protocol takes the embeddings and labels of both splits and returns a dict of floats in which
`test_accuracy`, `test_accuracy_low` and `test_accuracy_high` are always present.
"""

from contrastive_jax.evaluation.intervals import wilson
from contrastive_jax.evaluation.knn import knn_accuracy
from contrastive_jax.evaluation.linear_probe import linear_probe
from contrastive_jax.evaluation.sgd_probe import sgd_probe

__all__ = ['knn', 'linear_probe', 'sgd_probe']


def knn(train, train_labels, test, test_labels, *, k=20, temperature=0.07):
    """`knn_accuracy` with its 95 % Wilson interval."""
    accuracy = knn_accuracy(train, train_labels, test, test_labels, k=k, temperature=temperature)
    low, high = wilson(round(accuracy * len(test_labels)), len(test_labels))
    return {
        'test_accuracy': accuracy,
        'test_accuracy_low': low,
        'test_accuracy_high': high,
    }
