"""What a classifier reads of each factor, and what the neighbours say."""

import numpy as np

from contrastive_jax.evaluation.factor_probes import probe_factors
from contrastive_jax.evaluation.intervals import wilson
from contrastive_jax.evaluation.knn import knn_accuracy
from contrastive_jax.panel import pictures
from contrastive_jax.panel.section import Measure, Section, Value, value_of

NEIGHBOURS = 20


def section(material, key):
    """Linear probe, 1-NN and weighted k-NN of every factor, for every representation."""
    del key
    title = 'What is read'
    if not material.train_factors:
        return Section(title, 'There are no labels or factors to read.')
    found = {
        name: probe_factors(
            material.train[name], material.train_factors, material.test[name], material.test_factors
        )
        for name in material.train
    }
    left_out = next(iter(found.values()))['left_out']
    results = {
        factor: {name: probes['results'][factor] for name, probes in found.items()}
        for factor in material.train_factors if factor not in left_out
    }  # fmt: skip
    text = ' '.join(f'{name} is not read: {reason}.' for name, reason in left_out.items())
    if not results:
        return Section(title, text)
    measures = [m for factor, read in results.items() for m in measures_of(material, factor, read)]
    shown = {
        factor: {of: value_of(result, 'test_accuracy') for of, result in read.items()}
        for factor, read in results.items()
    }
    levels = {factor: chance(material, factor) for factor in results}
    caption = 'Linear probe of every factor, with 95 % intervals; the line is chance.'
    drawn = {caption: pictures.bars(shown, levels, 'test accuracy')}
    return Section(title, text, tuple(measures), drawn)


def measures_of(material, factor, read):
    """The measures of one factor, from {representation: what `linear_probe` gives}."""
    level = f'test accuracy of a logistic regression; chance {chance(material, factor):.3g}'
    for name, title, meaning in (
        ('test_accuracy', 'linear probe', level),
        ('test_top5', 'top 5', 'the class is among the five most probable'),
        ('train_accuracy', 'train accuracy', 'of the same probe on the rows that it was fitted on'),
    ):
        if values := {of: value_of(r, name) for of, r in read.items() if name in r}:
            yield Measure(f'{factor}: {title}', values, meaning)
    for k in sorted({1, min(NEIGHBOURS, len(material.train_factors[factor]))}):
        values = {of: neighbours(material, of, factor, k) for of in read}
        meaning = 'test accuracy of the vote of the nearest training rows, by cosine'
        yield Measure(f'{factor}: {k}-NN', values, meaning)


def chance(material, factor):
    """The accuracy of the class that is most frequent in training."""
    values, counts = np.unique(material.train_factors[factor], return_counts=True)
    return float(np.mean(material.test_factors[factor] == values[np.argmax(counts)]))


def neighbours(material, name, factor, k):
    """The accuracy of k-NN with its interval."""
    labels = material.test_factors[factor]
    accuracy = knn_accuracy(
        material.train[name], material.train_factors[factor], material.test[name], labels, k=k
    )
    return Value(accuracy, *wilson(round(accuracy * len(labels)), len(labels)))
