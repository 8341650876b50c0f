"""Linear probe of examples that have any number of classes, such as images of several digits."""

import numpy as np
from sklearn.metrics import average_precision_score

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.linear_probe import fit_logistic, standardized
from contrastive_jax.evaluation.rows import checked_pair


def multi_label_probe(
    train, train_labels, test, test_labels, *, regularization=1e-3, max_iterations=1000
):
    """One logistic regression to convergence for each class against the rest.

    Each minimises the objective of `linear_probe` on the same standardised embeddings. The average
    precision of a class is sum_k (R_k - R_k-1) P_k over the thresholds of its score, with precision
    P and recall R of the test rows above the k-th.

    Args:
      train: embeddings [n, d] to fit on; any floating type, computed in float64.
      train_labels: [n, c], 1 where the class is present and 0 where it is not.
      test: embeddings [m, d] to score on.
      test_labels: [m, c], likewise.
      regularization: strength of the penalty, >= 0.
      max_iterations: of L-BFGS.

    Returns:
      dict of `mean_average_precision`, the mean over the classes that have one; `average_precision`
      [c], NaN for a class that is left out or that no test row has; `exact_match`, the share of
      test rows with every class right that is not left out; `left_out`, the number of classes that
      all training rows have, or none; `converged`, 1.0 where all fits are, else 0.0.

    Raises:
      BadInput: shapes that do not match, a row that is not finite, labels other than 0 and 1, no
        class with both in train, or none of those in test.
    """
    train, test = checked_pair(train, test)
    train_labels = _checked_presence(train_labels, len(train), 'train labels')
    test_labels = _checked_presence(test_labels, len(test), 'test labels')
    classes = train_labels.shape[1]
    if test_labels.shape[1] != classes:
        raise BadInput(
            f'train and test labels have {classes} and {test_labels.shape[1]} classes; the two '
            'must be equal.'
        )
    kept = np.flatnonzero(train_labels.any(axis=0) & ~train_labels.all(axis=0))
    if not test_labels[:, kept].any():
        raise BadInput(
            f'of {classes} classes, {len(kept)} have both rows with and rows without them in '
            'train, and no test row has one of those: there is nothing to measure.'
        )
    train, test = standardized(train, test)
    precision, wrong, all_converged = np.full(classes, np.nan), np.zeros(len(test), bool), True
    for place in kept:
        classifier, converged = fit_logistic(
            train, train_labels[:, place], regularization, max_iterations
        )
        scores, present = classifier.decision_function(test), test_labels[:, place]
        if present.any():
            precision[place] = average_precision_score(present, scores)
        wrong |= (scores > 0) != present
        all_converged &= converged
    return {
        'mean_average_precision': float(np.nanmean(precision)),
        'average_precision': precision,
        'exact_match': float(np.mean(~wrong)),
        'left_out': float(classes - len(kept)),
        'converged': float(all_converged),
    }


def _checked_presence(labels, count, name):
    """Labels as booleans [count, c], or BadInput."""
    labels = np.asarray(labels)
    if labels.ndim != 2 or len(labels) != count or not labels.shape[1]:
        raise BadInput(f'{name} must be one row a row, [{count}, c], got shape {labels.shape}.')
    if not np.all((labels == 0) | (labels == 1)):
        raise BadInput(f'{name} must be 0 or 1, got {labels.dtype} such as {labels[0].tolist()}.')
    return labels.astype(bool)
