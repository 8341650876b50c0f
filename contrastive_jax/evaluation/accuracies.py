"""From the scores of a classifier to accuracies."""

import numpy as np

from contrastive_jax.evaluation.intervals import wilson


def places_of(labels, classes):
    """Where each label [n] stands in the sorted `classes` [c]; c where it is none of them."""
    places = np.searchsorted(classes, labels)
    known = classes[np.minimum(places, len(classes) - 1)] == labels
    return np.where(known, places, len(classes))


def ranks(scores, places):
    """How many classes are placed before the right one: 0 where the classifier is right.

    Args:
      scores: [n, c], NumPy or JAX; of equal scores the first class wins.
      places: [n] integers, the column of the right class; c where there is none.

    Returns:
      [n] integers from 0 to c - 1, and at least c where there is no right class.
    """
    classes = scores.shape[1]
    own = scores[np.arange(len(scores)), places % classes][:, None]
    earlier = np.arange(classes)[None] < places[:, None]
    before = ((scores > own) | ((scores == own) & earlier)).sum(axis=1)
    return before + places // classes * classes


def accuracies(ranks, classes):
    """What the ranks of the test rows say.

    Args:
      ranks: [m] integers of NumPy, see `ranks`.
      classes: how many classes the classifier knows.

    Returns:
      `test_accuracy` with its 95 % Wilson interval `test_accuracy_low` and `test_accuracy_high`;
      `test_top5`, the share of rows whose class is among the five with the highest scores, where
      there are more than five; `unseen`, the number of rows whose class the classifier does not
      know: they count as wrong.
    """
    correct = int(np.sum(ranks == 0))
    low, high = wilson(correct, len(ranks))
    return {
        'test_accuracy': correct / len(ranks),
        'test_accuracy_low': low,
        'test_accuracy_high': high,
        **({'test_top5': float(np.mean(ranks < 5))} if classes > 5 else {}),
        'unseen': float(np.sum(ranks >= classes)),
    }
