"""Linear probe: how much of a factor a linear classifier reads from frozen embeddings."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.intervals import wilson


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
    train, test = check_embeddings(train, train_labels, test, test_labels)
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
    correct = int(np.sum(classifier.predict(test) == np.asarray(test_labels)))
    low, high = wilson(correct, len(test))
    return {
        'test_accuracy': correct / len(test),
        'test_accuracy_low': low,
        'test_accuracy_high': high,
        'train_accuracy': float(classifier.score(train, train_labels)),
        'converged': float(np.max(classifier.n_iter_) < max_iterations),
    }


def check_embeddings(train, train_labels, test, test_labels):
    """Both sets of embeddings as float64 arrays, or BadInput saying what is wrong with them."""
    sets = {}
    for name, rows, labels in (('train', train, train_labels), ('test', test, test_labels)):
        rows = np.asarray(rows, np.float64)
        if rows.ndim != 2 or len(rows) != len(labels) or not len(rows):
            raise BadInput(
                f'{name} embeddings must be [n, d] with n > 0 labels, got {rows.shape} and '
                f'{len(labels)} labels.'
            )
        bad = int(np.sum(~np.isfinite(rows).all(axis=1)))
        if bad:
            raise BadInput(f'{bad} of {len(rows)} {name} embeddings are not finite.')
        sets[name] = rows
    if sets['train'].shape[1] != sets['test'].shape[1]:
        raise BadInput(
            f'train and test embeddings have {sets["train"].shape[1]} and '
            f'{sets["test"].shape[1]} dimensions; the two must be equal.'
        )
    if len(np.unique(train_labels)) < 2:
        raise BadInput(
            f'train labels are all {np.asarray(train_labels)[0]}: nothing to tell apart.'
        )
    return sets['train'], sets['test']
