"""Mutual information of the features of two views, and of two examples of one class."""

import jax

from contrastive_jax.evaluation.mutual_information import (
    estimate_mutual_information,
    same_class_pairs,
)
from contrastive_jax.panel import pictures
from contrastive_jax.panel.section import Section, measures_of

PAIRS, STEPS, FEWEST = 256, 2000, 16

MEANINGS = {
    'views, bits': 'of two views of one example, post-training estimate on held-out pairs',
    'views, nats': 'the same',
    'class, bits': 'of two examples of one class, at most the entropy of the classes',
    'class, nats': 'the same',
}


def section(material, key):
    """Post-training estimates on the frozen features h, with their ceilings."""
    title = 'Mutual information'
    found, reasons = {}, []
    view_key, class_key = jax.random.split(key)
    pairs = pairs_by_kind(material, class_key)
    for kind, (train, test) in pairs.items():
        num_pairs = min(PAIRS, len(train[0]), len(test[0]) // 2)
        if num_pairs < FEWEST:
            reasons.append(f'{kind}: {len(test[0])} held-out pairs are too few to estimate from.')
            continue
        found[kind] = estimate_mutual_information(
            train, test, key=view_key, num_pairs=num_pairs, num_steps=STEPS
        )
    if not pairs:
        reasons.append('An estimate needs two views of each example, or classes.')
    if not found:
        return Section(title, ' '.join(reasons))
    results = {
        f'{kind}, {unit}': found[kind][unit] for kind in found for unit in ('bits', 'nats')
    } | {
        f'{kind}, {unit}_{end}': found[kind][f'{unit}_{end}']
        for kind in found for unit in ('bits', 'nats') for end in ('low', 'high')
        if f'{unit}_{end}' in found[kind]
    }  # fmt: skip
    text = [
        f'A new critic for each, trained {STEPS} steps with NT-Xent at K = {estimate["num_pairs"]} '
        f'pairs and temperature {estimate["temperature"]:g}; no estimate of {kind} exceeds '
        f'{min(estimate["ceiling_bits"], estimate["temperature_ceiling_bits"]):.2f} bits.'
        + (' It is saturated: the truth may be larger.' if estimate['saturated'] else '')
        for kind, estimate in found.items()
    ]
    drawn = {'Estimates in bits; the lines are the ceilings.': pictures.information(found)}
    return Section(
        title, ' '.join([*text, *reasons]), tuple(measures_of({'h': results}, MEANINGS)), drawn
    )


def pairs_by_kind(material, key):
    """{'views' or 'class': (training pairs, held-out pairs)} of h, as far as they are known."""
    pairs = {}
    if 'h' in material.train_views and 'h' in material.test_views:
        pairs['views'] = (material.train_views['h'], material.test_views['h'])
    if 'label' in material.train_factors and 'h' in material.train:
        keys = jax.random.split(key)
        pairs['class'] = tuple(
            tuple(rows[places] for places in same_class_pairs(labels, one))
            for rows, labels, one in (
                (material.train['h'], material.train_factors['label'], keys[0]),
                (material.test['h'], material.test_factors['label'], keys[1]),
            )
        )
    return pairs
