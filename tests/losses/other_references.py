"""The losses that are neither InfoNCE nor over a bank, as float64 loops, from the formulas."""

import math

import numpy as np

from tests.losses.infonce_references import anchors_of, minus_log_share, unit


def anisotropic_info_nce(z1, z2, *, temperature):
    total = []
    for anchor, positive, others in anchors_of(unit(z1), unit(z2)):
        logits = [-np.sum((anchor - other) ** 2 / temperature) / 2 for other in others]
        positive = -np.sum((anchor - positive) ** 2 / temperature) / 2
        total.append(minus_log_share(positive, logits))
    return np.mean(total)


def byol_regression(predictions1, predictions2, targets1, targets2):
    pairs = [(predictions1, targets2), (predictions2, targets1)]
    distances = [
        np.sum((p - t) ** 2)
        for predictions, targets in pairs
        for p, t in zip(unit(predictions), unit(targets), strict=True)
    ]
    return np.mean(distances)


def cross_entropy(logits, labels):
    total = [
        math.log(sum(math.exp(entry) for entry in row)) - row[label]
        for row, label in zip(np.float64(logits), labels, strict=True)
    ]
    return np.mean(total)


def multi_label(logits, labels):
    logits = np.float64(logits)
    total = 0.0
    for i, j in np.ndindex(*logits.shape):
        probability = 1 / (1 + math.exp(-logits[i, j]))
        total -= math.log(probability if labels[i, j] else 1 - probability)
    return total / logits.size


def supcon(z, labels, *, temperature):
    rows, total = unit(z), []
    for i, row in enumerate(rows):
        others = [j for j in range(len(rows)) if j != i]
        logits = {j: np.sum(row * rows[j] / temperature) for j in others}
        positives = [j for j in others if labels[j] == labels[i]]
        partition = math.log(sum(math.exp(logits[j]) for j in others))
        if positives:
            total.append(np.mean([partition - logits[j] for j in positives]))
    return np.mean(total)


def generalized_contrastive(z1, z2, *, prior, distribution, weight, temperature, key=None):
    """The log-sum-exp form of the notebook's convention only."""
    assert (prior, distribution) == ('uniform_hypersphere', 'log_sum_exp')
    u, v = unit(z1), unit(z2)
    rows = np.concatenate([u, v])
    alignment = np.mean((u - v) ** 2) / 2
    term = np.mean(
        [math.log(sum(math.exp(row @ other / temperature) for other in rows)) for row in rows]
    )
    return alignment + weight * (term - math.log(rows.shape[1]))


def distribution_matching(z, *, prior, distribution, temperature, key=None):
    """The log-sum-exp form only."""
    assert (prior, distribution) == ('uniform_hypersphere', 'log_sum_exp')
    rows = unit(z)
    sums = [sum(math.exp(row @ other / temperature) for other in rows) for row in rows]
    return np.mean(np.log(sums)) - math.log(rows.shape[1])


def sliced_wasserstein(samples, prior_samples, projections):
    total = []
    for direction in np.float64(projections).T:
        ours = sorted(row @ direction for row in np.float64(samples))
        prior = sorted(row @ direction for row in np.float64(prior_samples))
        total += [(a - b) ** 2 for a, b in zip(ours, prior, strict=True)]
    return np.mean(total)


def evidence_lower_bound(images, reconstructions, mean, log_variance):
    """The Bernoulli likelihood."""
    arrays = (np.float64(a) for a in (images, reconstructions, mean, log_variance))
    total = []
    for x, logits, m, log_v in zip(*arrays, strict=True):
        loss = 0.0
        for pixel, logit in zip(x, logits, strict=True):
            p = 1 / (1 + math.exp(-logit))
            loss -= pixel * math.log(p) + (1 - pixel) * math.log(1 - p)
        for center, spread in zip(m, log_v, strict=True):
            loss += (center**2 + math.exp(spread) - 1 - spread) / 2
        total.append(loss)
    return np.mean(total)


def nwj(scores):
    scores, n = np.float64(scores), len(scores)
    apart = [math.exp(scores[i, j]) for i in range(n) for j in range(n) if i != j]
    return np.mean([scores[i, i] for i in range(n)]) - np.mean(apart) / math.e


def barber_agakov(scores):
    scores, n = np.float64(scores), len(scores)
    total = [
        scores[j, j] - math.log(np.mean([math.exp(scores[i, j]) for i in range(n) if i != j]))
        for j in range(n)
    ]
    return np.mean(total)
