"""The InfoNCE family as float64 loops over anchors and candidates, written from the formulas."""

import numpy as np


def unit(rows):
    rows = np.float64(rows)
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-6)


def minus_log_share(positive, negatives):
    """-log( exp(positive) / (exp(positive) + sum exp(negatives)) )."""
    logits = np.append(negatives, positive)
    largest = logits.max()
    return largest + np.log(np.exp(logits - largest).sum()) - positive


def anchors_of(z1, z2):
    """(anchor, positive, negatives) for each row of both views."""
    rows, n = np.concatenate([z1, z2]), len(z1)
    for i, row in enumerate(rows):
        partner = (i + n) % (2 * n)
        yield row, rows[partner], [rows[k] for k in range(2 * n) if k not in (i, partner)]


def nt_xent(z1, z2, *, temperature, similarity='cosine', negatives=None):
    sets = [np.float64(rows) for rows in (z1, z2, negatives) if rows is not None]
    scale = 1.0
    if similarity == 'cosine':
        sets = [unit(rows) for rows in sets]
    if similarity == 'standardized':
        every = np.concatenate(sets)
        sets = [(rows - every.mean(0)) / every.std(0) for rows in sets]
        scale = 1 / np.sqrt(z1.shape[1])
    total = []
    for anchor, positive, others in anchors_of(*sets[:2]):
        others = sets[2] if negatives is not None else others
        logits = [scale * np.sum(anchor * other / temperature) for other in others]
        total.append(minus_log_share(scale * np.sum(anchor * positive / temperature), logits))
    return np.mean(total)


def cross_view_info_nce(z1, z2, *, temperature):
    u, v = unit(z1), unit(z2)
    total = []
    for first, second in ((u, v), (v, u)):
        for i, anchor in enumerate(first):
            logits = [np.sum(anchor * other / temperature) for other in second]
            total.append(minus_log_share(logits[i], np.delete(logits, i)))
    return np.mean(total)


def directclr(z1, z2, *, temperature, num_dimensions):
    keep = slice(num_dimensions)
    return cross_view_info_nce(z1[:, keep], z2[:, keep], temperature=temperature)


def decoupled_nt_xent(z1, z2, *, temperature, weight):
    total = []
    for anchor, positive, others in anchors_of(unit(z1), unit(z2)):
        logits = [np.sum(anchor * other / temperature) for other in [positive, *others]]
        total.append(-anchor @ positive + weight * np.log(np.exp(logits).sum()))
    return np.mean(total)


def in_batch_simple(z1, z2, *, weight=None):
    weight = 1 / (2 * len(z1) - 2) if weight is None else weight
    return np.mean(
        [
            -anchor @ positive + weight * sum(anchor @ other for other in others)
            for anchor, positive, others in anchors_of(unit(z1), unit(z2))
        ]
    )


def in_batch_hard(z1, z2, *, temperature, num_hard):
    total = []
    for anchor, positive, others in anchors_of(unit(z1), unit(z2)):
        logits = sorted(np.sum(anchor * other / temperature) for other in others)
        positive = np.sum(anchor * positive / temperature)
        total.append(minus_log_share(positive, logits[-num_hard:]))
    return np.mean(total)


def hardest_negative_triplet(z1, z2):
    return np.mean(
        [
            max(0, max(anchor @ other for other in others) - anchor @ positive)
            for anchor, positive, others in anchors_of(unit(z1), unit(z2))
        ]
    )


def sphere_info_nce(anchors, positives, *, temperature):
    anchors, positives = np.float64(anchors), np.float64(positives)
    total = []
    for i, anchor in enumerate(anchors):
        logits = [np.sum(anchor * other / temperature) for other in np.delete(anchors, i, 0)]
        total.append(minus_log_share(np.sum(anchor * positives[i] / temperature), logits))
    return np.mean(total)


def box_info_nce(anchors, positives, *, temperature, power=2):
    anchors, positives = np.float64(anchors), np.float64(positives)
    total = []
    for i, anchor in enumerate(anchors):
        logits = [
            -np.sum(np.abs(anchor - other) ** power / temperature)
            for other in np.delete(anchors, i, 0)
        ]
        positive = -np.sum(np.abs(anchor - positives[i]) ** power / temperature)
        total.append(minus_log_share(positive, logits))
    return np.mean(total)


def queue_contrastive(queries, keys, queue, *, temperature):
    queries, keys, queue = (np.float64(rows) for rows in (queries, keys, queue))
    return np.mean(
        [
            minus_log_share(
                np.sum(query * key / temperature),
                [np.sum(query * other / temperature) for other in queue],
            )
            for query, key in zip(queries, keys, strict=True)
        ]
    )
