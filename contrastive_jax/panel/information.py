"""Mutual information of the features of two views, and of two examples of one class."""

import jax
import numpy as np

from contrastive_jax.evaluation.class_pairs import disjoint_same_class_pairs, same_class_pairs
from contrastive_jax.evaluation.mutual_information import estimate_mutual_information
from contrastive_jax.panel import pictures
from contrastive_jax.panel.section import Section, measures_of

PAIRS, STEPS, FEWEST = 256, 2000, 16
DRAWS = 10  # pairs of one class for each example that a critic is fitted on
BY_HEART = 2  # bits by which a critic does better on its own pairs

MEANINGS = {
    'views, bits': 'of two views of one example: post-training estimate on held-out pairs',
    'views, nats': 'that estimate in nats',
    'views, bits of fitted pairs': 'where far above, the critic knows its pairs of views by heart',
    'class, bits': 'of two examples of one class, at most the entropy of the classes',
    'class, nats': 'that estimate in nats',
    'class, bits of fitted pairs': 'where far above, the critic knows those pairs by heart',
}


def section(material, key):
    """Post-training estimates on the frozen features h, with their ceilings."""
    title = 'Mutual information'
    found, reasons = {}, []
    critic_key, pairs_key = jax.random.split(key)
    pairs = pairs_by_kind(material, pairs_key)
    for kind, (train, test) in pairs.items():
        num_pairs = min(PAIRS, len(train[0]), len(test[0]) // 2)
        if num_pairs < FEWEST:
            reasons.append(f'{kind}: {len(test[0])} held-out pairs are too few to estimate from.')
            continue
        found[kind] = estimate_mutual_information(
            train, test, key=critic_key, num_pairs=num_pairs, num_steps=STEPS
        )
    if not pairs:
        reasons.append('An estimate needs two views of each example, or classes.')
    if not found:
        return Section(title, ' '.join(reasons))
    results = {}
    for kind, estimate in found.items():
        for unit in ('bits', 'nats'):
            for end in ('', '_low', '_high'):
                results[f'{kind}, {unit}{end}'] = estimate[unit + end]
        results[f'{kind}, bits of fitted pairs'] = estimate['train_bits']
    text = [
        f'A new critic for each kind of pairs, trained {STEPS} steps with NT-Xent.',
        *(
            f'{kind}: K = {estimate["num_pairs"]:.0f} pairs, temperature '
            f'{estimate["temperature"]:g}, ceilings {estimate["ceiling_bits"]:.2f} bits by K and '
            f'{estimate["temperature_ceiling_bits"]:.2f} by temperature.'
            for kind, estimate in found.items()
        ),
    ]
    if 'class' in found:
        text.append(f'The classes themselves have {entropy_of_classes(material):.2f} bits.')
    warnings = [
        f'The mutual information of {kind} is estimated at {estimate["bits"]:.2f} bits, where the '
        f'estimate saturates (K = {estimate["num_pairs"]:.0f}, temperature '
        f'{estimate["temperature"]:g}): the truth may be larger. Usually K is too small or the '
        'temperature too high for so much information.'
        for kind, estimate in found.items() if estimate['saturated']
    ] + [
        f'The critic knows its pairs of {kind} by heart: {estimate["train_bits"]:.2f} bits on the '
        f'pairs that it was fitted on, {estimate["bits"]:.2f} on others, so that the estimate says '
        'little. Usually there are too few training examples for the dimensions.'
        for kind, estimate in found.items()
        if estimate['train_bits'] - estimate['bits'] > BY_HEART
    ]  # fmt: skip
    drawn = {'Estimates in bits; the lines are the ceilings.': pictures.information(found)}
    measures = tuple(measures_of({'h': results}, MEANINGS))
    return Section(title, ' '.join([*text, *reasons]), measures, drawn, tuple(warnings))


def entropy_of_classes(material):
    """H(C) of the test labels in bits: no estimate of pairs of a class can be truly above it."""
    counts = np.unique(material.test_factors['label'], return_counts=True)[1]
    return float(-np.sum(counts / counts.sum() * np.log2(counts / counts.sum())))


def has_classes(material):
    """Whether two examples of both splits have one class."""
    splits = (material.train_factors, material.test_factors)
    return all(
        'label' in factors and len(set(factors['label'].tolist())) < len(factors['label'])
        for factors in splits
    )


def pairs_by_kind(material, key):
    """{'views' or 'class': (training pairs, held-out pairs)} of h, as far as they are known."""
    pairs = {}
    if 'h' in material.train_views and 'h' in material.test_views:
        pairs['views'] = (material.train_views['h'], material.test_views['h'])
    if has_classes(material) and 'h' in material.train:
        train_key, test_key = jax.random.split(key)
        labels = material.train_factors['label']
        drawn = same_class_pairs(labels, train_key, num_pairs=DRAWS * len(labels))
        held_out = disjoint_same_class_pairs(material.test_factors['label'], test_key)
        pairs['class'] = tuple(
            tuple(rows['h'][places] for places in pair)
            for rows, pair in ((material.train, drawn), (material.test, held_out))
        )
    return pairs
