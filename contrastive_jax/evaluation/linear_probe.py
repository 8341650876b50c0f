"""Linear probe: how much of a factor a linear classifier reads from frozen embeddings."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.intervals import wilson
from contrastive_jax.evaluation.rows import checked_sets


def linear_probe(
    train, train_labels, test, test_labels, *, regularization=1e-3, max_iterations=1000
):
    """Multinomial logistic regression to convergence on standardised embeddings.

    min_W,b  mean_i cross_entropy(W x_i + b, y_i) + regularization / 2 |W|^2,

    with x standardised by the mean and deviation of the training embeddings.

    Args:
      train: embeddings [n, d] to fit on; any floating type, computed in float64.
      train_labels: integer [n], at least two classes.
      test: embeddings [m, d] to score on.
      test_labels: integer [m].
      regularization: strength of the penalty, >= 0.
      max_iterations: of L-BFGS.

    Returns:
      `test_accuracy` with its 95 % Wilson interval `test_accuracy_low` and `test_accuracy_high`,
      `train_accuracy`, all in [0, 1], and `converged`, 1.0 or 0.0.

    Raises:
      BadInput: shapes that do not match, a row that is not finite, fewer than two classes.
    """
    if not regularization >= 0:
        raise BadInput(f'regularization is {regularization}; it must be at least 0.')
    train, train_labels, test, test_labels = checked_sets(train, train_labels, test, test_labels)
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    # A constant dimension says nothing; dividing by its zero deviation would say NaN.
    deviation = np.where(deviation > 1e-12 * (1 + np.abs(mean)), deviation, np.inf)
    train, test = (train - mean) / deviation, (test - mean) / deviation
    strength = regularization * len(train)
    classifier = LogisticRegression(
        C=1 / strength if strength else np.inf, max_iter=max_iterations, tol=1e-4
    )
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', ConvergenceWarning)  # told by `converged`
        classifier.fit(train, train_labels)
    correct = int(np.sum(classifier.predict(test) == test_labels))
    low, high = wilson(correct, len(test))
    return {
        'test_accuracy': correct / len(test),
        'test_accuracy_low': low,
        'test_accuracy_high': high,
        'train_accuracy': float(classifier.score(train, train_labels)),
        'converged': float(np.max(classifier.n_iter_) < max_iterations),
    }
