"""Objectives over a bank as float64 loops over anchors and rows, written from the formulas.

Indices must lie inside the bank; ids of sets that do not are empty places.
"""

import numpy as np

from contrastive_jax.losses.noise_contrastive import log_sphere_partition
from tests.losses.infonce_references import minus_log_share, unit


def rows_of(anchors, bank, index):
    """(anchor, positive, negatives) for each anchor: all rows of the bank but its own."""
    anchors, bank = np.float64(anchors), np.float64(bank)
    for anchor, own in zip(anchors, index, strict=True):
        yield anchor, bank[own], [bank[j] for j in range(len(bank)) if j != own]


def contrastive(anchors, bank, index, *, temperature):
    return np.mean(
        [
            minus_log_share(
                np.sum(anchor * positive / temperature),
                [np.sum(anchor * other / temperature) for other in negatives],
            )
            for anchor, positive, negatives in rows_of(anchors, bank, index)
        ]
    )


instance_discrimination = contrastive


def instance_discrimination_views(z1, z2, *, temperature):
    return contrastive(unit(z1), unit(z2), np.arange(len(z1)), temperature=temperature)


def simple_contrastive(anchors, bank, index, *, weight=None):
    weight = 1 / (len(bank) - 1) if weight is None else weight
    return np.mean(
        [
            -anchor @ positive + weight * sum(anchor @ other for other in negatives)
            for anchor, positive, negatives in rows_of(anchors, bank, index)
        ]
    )


def hard_contrastive(anchors, bank, index, *, temperature, num_hard):
    total = []
    for anchor, positive, negatives in rows_of(anchors, bank, index):
        logits = sorted(anchor @ other / temperature for other in negatives)
        total.append(minus_log_share(anchor @ positive / temperature, logits[-num_hard:]))
    return np.mean(total)


def hard_simple_contrastive(anchors, bank, index, *, num_hard, weight=None):
    weight = 1 / num_hard if weight is None else weight
    total = []
    for anchor, positive, negatives in rows_of(anchors, bank, index):
        hardest = sorted(anchor @ other for other in negatives)[-num_hard:]
        total.append(-anchor @ positive + weight * sum(hardest))
    return np.mean(total)


def instance_discrimination_noise_contrastive(
    anchors, bank, index, *, temperature, noise, kappa=None
):
    size = len(bank)
    if kappa is None:
        kappa = np.exp(log_sphere_partition(temperature, anchors.shape[1]))
    total = []
    for (anchor, positive, _), ids in zip(rows_of(anchors, bank, index), noise, strict=True):
        draws = max(1, sum(0 <= j < size for j in ids))
        p = np.exp(anchor @ positive / temperature) / (kappa * size)
        loss = -np.log(p / (p + draws / size))
        for j in ids:
            if 0 <= j < size:
                p = np.exp(anchor @ np.float64(bank[j]) / temperature) / (kappa * size)
                loss -= np.log(draws / size / (p + draws / size))
        total.append(loss)
    return np.mean(total)


def sets_of(anchors, bank, index, temperature, background, close):
    """(e_ii, [e_ij of the background that is close], [e_ij of the rest of it]) for each anchor."""
    anchors, bank = np.float64(anchors), np.float64(bank)
    for i, own in enumerate(index):
        e = np.exp(bank @ anchors[i] / temperature)
        members = [j for j in background[i] if 0 <= j < len(bank) and j != own]
        near = set(close[i])
        yield e[own], [e[j] for j in members if j in near], [e[j] for j in members if j not in near]


def annulus(anchors, bank, index, *, temperature, background, close, include_positive=True):
    return np.mean(
        [
            -np.log(own / (sum(ring) + own * include_positive))
            for own, _, ring in sets_of(anchors, bank, index, temperature, background, close)
        ]
    )


def ball(anchors, bank, index, *, temperature, background):
    nothing = np.full((len(anchors), 1), -1)
    return annulus(
        anchors, bank, index, temperature=temperature, background=background, close=nothing
    )


def local_aggregation(anchors, bank, index, *, temperature, background, close, reduce='sum'):
    total = []
    for own, near, ring in sets_of(anchors, bank, index, temperature, background, close):
        numerator = own + sum(near)
        numerator = numerator / (1 + len(near)) if reduce == 'mean' else numerator
        total.append(-np.log(numerator / (own + sum(near) + sum(ring))))
    return np.mean(total)


def contrastive_multiview_coding(anchors1, anchors2, bank1, bank2, index, *, temperature):
    first = contrastive(anchors1, bank2, index, temperature=temperature)
    return first + contrastive(anchors2, bank1, index, temperature=temperature)
