"""Linear probe: how much of a factor a linear classifier reads from frozen embeddings."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.accuracies import accuracies, places_of, ranks
from contrastive_jax.evaluation.rows import checked_sets

# Threads of BLAS wait for each other busily: where other processes use the cores too, a fit of
# fewer numbers takes 5 to 40 times as long with them, and alone it is short without.
FEWEST_FOR_THREADS = 2**22


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
      test_labels: integer [m]. Classes without a training row count as wrong; those without a test
        row count nowhere.
      regularization: strength of the penalty, >= 0.
      max_iterations: of L-BFGS.

    Returns:
      dict of floats: `test_accuracy` with its 95 % Wilson interval `test_accuracy_low` and
      `test_accuracy_high`, `test_top5` where there are more than five classes, `train_accuracy`,
      all in [0, 1]; `converged`, 1.0 or 0.0; `unseen`, the number of test rows of a class without a
      training row.

    Raises:
      BadInput: shapes that do not match, a row that is not finite, fewer than two classes.
    """
    sets = train, train_labels, test, test_labels
    return probe_and_classes(*sets, regularization=regularization, max_iterations=max_iterations)[0]


def linear_probe_by_class(
    train, train_labels, test, test_labels, *, regularization=1e-3, max_iterations=1000
):
    """The test accuracy of `linear_probe` for each class.

    Args: those of `linear_probe`.

    Returns:
      dict of arrays [c], one entry for each class of either set: `classes`, ascending; `accuracy`
      over the test rows of the class, NaN where it has none and 0 where it has no training row;
      `train_rows` and `test_rows`, how many rows it has.

    Raises:
      BadInput: as `linear_probe`.
    """
    sets = train, train_labels, test, test_labels
    return probe_and_classes(*sets, regularization=regularization, max_iterations=max_iterations)[1]


def probe_and_classes(
    train, train_labels, test, test_labels, *, regularization=1e-3, max_iterations=1000
):
    """What `linear_probe` and `linear_probe_by_class` return, (dict, dict), of one fit."""
    train, train_labels, test, test_labels = checked_sets(train, train_labels, test, test_labels)
    train, test = standardized(train, test)
    classifier, converged = fit_logistic(train, train_labels, regularization, max_iterations)
    ranks_of_test = _ranks(classifier, test, test_labels)
    results = {
        **accuracies(ranks_of_test, len(classifier.classes_)),
        'train_accuracy': float(np.mean(_ranks(classifier, train, train_labels) == 0)),
        'converged': float(converged),
    }
    right = ranks_of_test == 0
    classes = np.union1d(train_labels, test_labels)
    train_rows, test_rows, correct = (
        np.bincount(places_of(labels, classes), minlength=len(classes))
        for labels in (train_labels, test_labels, test_labels[right])
    )
    accuracy = np.where(test_rows > 0, correct / np.maximum(test_rows, 1), np.nan)
    return results, {
        'classes': classes,
        'accuracy': accuracy,
        'train_rows': train_rows,
        'test_rows': test_rows,
    }


def standardized(train, test):
    """Both sets [n, d] and [m, d], by the mean and deviation of the training rows."""
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    # A constant dimension says nothing; dividing by its zero deviation would say NaN.
    deviation = np.where(deviation > 1e-12 * (1 + np.abs(mean)), deviation, np.inf)
    return (train - mean) / deviation, (test - mean) / deviation


def fit_logistic(rows, labels, regularization, max_iterations):
    """The objective of `linear_probe` minimised.

    Args:
      rows: [n, d] float64, standardised.
      labels: integer [n].
      regularization: see `linear_probe`.
      max_iterations: see `linear_probe`.

    Returns:
      (the fitted classifier of scikit-learn, whether it converged).

    Raises:
      BadInput: an option out of its range.
    """
    if not regularization >= 0:
        raise BadInput(f'regularization is {regularization}; it must be at least 0.')
    if not max_iterations >= 1:
        raise BadInput(f'max_iterations is {max_iterations}; it must be at least 1.')
    # Of two classes scikit-learn fits the difference w of the two rows of W, |W|^2 = |w|^2 / 2.
    strength = regularization * len(rows) / (2 if len(np.unique(labels)) == 2 else 1)
    classifier = LogisticRegression(
        C=1 / strength if strength else np.inf, max_iter=max_iterations, tol=1e-4
    )
    threads = 1 if rows.size < FEWEST_FOR_THREADS else None
    with warnings.catch_warnings(), threadpool_limits(threads, user_api='blas'):
        warnings.simplefilter('ignore', ConvergenceWarning)  # told by what is returned
        classifier.fit(rows, labels)
    return classifier, bool(np.max(classifier.n_iter_) < max_iterations)


def _ranks(classifier, rows, labels):
    """`ranks` of the classes of rows [n]."""
    scores = classifier.decision_function(rows)
    if scores.ndim == 1:  # two classes: how much the second is ahead
        scores = np.stack([-scores, scores], axis=1)
    return ranks(scores, places_of(labels, classifier.classes_))
