"""Embeddings and labels as they come from any framework, checked once, the same way everywhere."""

import numpy as np

from contrastive_jax.errors import BadInput


def checked_rows(rows, name, *, least=1):
    """Embeddings as a floating NumPy array, or BadInput saying what is wrong with them.

    Args:
      rows: [n, d], NumPy or JAX or anything that NumPy reads; half precision becomes float32.
      name: of what they are, for the error: 'train embeddings'.
      least: the smallest n.

    Returns:
      float32 or float64 [n, d].

    Raises:
      BadInput: another shape or type, fewer rows, or rows that are not finite (how many, and the
        first).
    """
    rows = np.asarray(rows)
    if rows.dtype.kind not in 'fiub' and str(rows.dtype) != 'bfloat16':
        raise BadInput(f'{name} must be numbers, got {rows.dtype}.')
    if rows.dtype != np.float64:
        rows = rows.astype(np.float32)
    if rows.ndim != 2 or not rows.shape[1]:
        raise BadInput(f'{name} must be [n, d], got shape {rows.shape}.')
    if len(rows) < least:
        raise BadInput(f'{name} are {len(rows)} rows; at least {least} are needed.')
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise BadInput(
            f'{len(bad)} of {len(rows)} {name} are not finite, the first is row {bad[0]}.'
        )
    return rows


def checked_labels(labels, count, name):
    """Labels as an integer NumPy array [count], or BadInput saying what is wrong with them.

    Args:
      labels: [count] of integers, booleans or whole floats.
      count: of the rows that they belong to.
      name: of what they are, for the error: 'train labels'.
    """
    labels = np.asarray(labels)
    if labels.shape != (count,):
        raise BadInput(f'{name} must be one a row, [{count}], got shape {labels.shape}.')
    whole = labels.dtype.kind in 'iub' or (
        labels.dtype.kind == 'f' and bool(np.all(labels == np.round(labels)))
    )
    if not whole:
        raise BadInput(
            f'{name} must be integers, got {labels.dtype} such as {labels[:3].tolist()}.'
        )
    return labels.astype(np.int64)


def checked_pair(train, test, *, dtype=np.float64):
    """Embeddings [n, d] and [m, d] in float64 or another type, or BadInput."""
    train = checked_rows(train, 'train embeddings').astype(dtype)
    test = checked_rows(test, 'test embeddings').astype(dtype)
    if train.shape[1] != test.shape[1]:
        raise BadInput(
            f'train and test embeddings have {train.shape[1]} and {test.shape[1]} dimensions; the '
            'two must be equal.'
        )
    return train, test


def checked_sets(train, train_labels, test, test_labels, *, dtype=np.float64):
    """Both sets of embeddings with their labels, or BadInput.

    Args:
      train: [n, d].
      train_labels: integers [n], of at least two classes.
      test: [m, d].
      test_labels: integers [m].
      dtype: of the embeddings that are returned.

    Returns:
      (train, train_labels, test, test_labels).
    """
    train, test = checked_pair(train, test, dtype=dtype)
    train_labels = checked_labels(train_labels, len(train), 'train labels')
    test_labels = checked_labels(test_labels, len(test), 'test labels')
    if len(np.unique(train_labels)) < 2:
        raise BadInput(f'train labels are all {train_labels[0]}: nothing to tell apart.')
    return train, train_labels, test, test_labels


def unit_length(rows):
    """Rows divided by their length; a zero row stays zero."""
    # By the largest entry first, so that no square overflows or underflows.
    largest = np.max(np.abs(rows), axis=1, keepdims=True)
    scaled = rows / np.where(largest > 0, largest, 1)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    return scaled / np.where(length > 0, length, 1)
