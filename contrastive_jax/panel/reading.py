"""What a classifier reads of each factor and class, and what the neighbours say."""

import numpy as np

from contrastive_jax.evaluation.factor_probes import probe_factors
from contrastive_jax.evaluation.intervals import wilson
from contrastive_jax.evaluation.knn import knn_accuracy
from contrastive_jax.evaluation.linear_probe import probe_and_classes
from contrastive_jax.panel import classes, pictures
from contrastive_jax.panel.section import Measure, Section, Value, value_of

NEIGHBOURS = 20
# Of more factors, all but the label have two lines: their probe and chance.
READ_WHOLLY = 3
# Of more pixels one factor is read: they are there for comparison, and each fit takes minutes.
MANY_PIXELS = 1000
# Factors of this name are 0 or 1: together they say which classes an example has.
PRESENT = 'present_'

MEANINGS = {
    'linear probe': 'test accuracy of a logistic regression',
    'chance': 'test accuracy of the class that is most frequent in training',
    'top 5': 'of the same probe: the class is among the five most probable',
    'train accuracy': 'of the same probe on the rows that it was fitted on',
    '1-NN': 'test accuracy of the nearest training row, by cosine',
}
VOTE = 'test accuracy of the vote of the nearest training rows, by cosine'


def section(material, key):
    """Probes, classes and neighbours of every factor, for every representation."""
    del key
    title = 'What is read'
    if not material.train_factors:
        return Section(title, 'There are no labels or factors to read.')
    present, others, reasons = sorted_factors(material)
    results, left_out = probed(material, others) if others else ({}, {})
    parts = []
    if results:
        levels = {factor: chance(material, factor) for factor in results}
        shown = {
            factor: {of: value_of(found, 'test_accuracy') for of, (found, _) in read.items()}
            for factor, read in results.items()
        }
        caption = 'Linear probe of every factor, with 95 % intervals; the mark is chance.'
        heading = 'What a linear probe reads (grey mark: chance)'
        drawn = {caption: pictures.dots(shown, heading, 'test accuracy', levels)}
        probes = {
            factor: {of: found for of, (found, _) in read.items()}
            for factor, read in results.items()
        }
        parts.append(((), drawn, {'probes': probes}))
        for factor, read in results.items():
            whole = len(results) <= READ_WHOLLY or factor == 'label'
            measures = measures_of(material, factor, read, levels[factor], whole)
            parts.append((measures, {}, {}))
            if factor == 'label':
                parts.append(classes.by_class({of: found for of, (_, found) in read.items()}))
    text = [f'{name} is not read: {why}.' for name, why in {**reasons, **left_out}.items()]
    if many_pixels(material):
        text.append(f'Of pixels, which are over {MANY_PIXELS}, one factor is read alone.')
    if present:
        *part, sentence = classes.several_classes(without_many_pixels(material), present)
        parts.append(part)
        text += [sentence] if sentence else []
    return Section(
        title,
        ' '.join(text),
        tuple(measure for measures, _, _ in parts for measure in measures),
        {caption: picture for _, drawn, _ in parts for caption, picture in drawn.items()},
        details={name: values for _, _, found in parts for name, values in found.items()},
    )


def sorted_factors(material):
    """(Factors that say which classes an example has, those to probe, {one left out: why})."""
    splits = material.train_factors, material.test_factors
    present = [
        name
        for name in splits[0]
        if name.startswith(PRESENT) and all(np.isin(of[name], (0, 1)).all() for of in splits)
    ]
    present = present if len(present) > 1 else []
    others, reasons = [], {}
    # The label first: of two that are equal it is the one to keep.
    for name in sorted(splits[0], key=lambda name: name != 'label'):
        same = [
            other for other in others if all(np.array_equal(of[name], of[other]) for of in splits)
        ]
        if same:
            reasons[name] = f'it is {same[0]} again'
        elif name not in present:
            others.append(name)
    return present, others, reasons


def probed(material, names):
    """({factor: {representation: what `probe_and_classes` gives}}, {one left out: why})."""
    train, test = (
        {name: factors[name] for name in names}
        for factors in (material.train_factors, material.test_factors)
    )
    whole = without_many_pixels(material)
    found = {
        name: probe_factors(rows, train, whole.test[name], test, probe=probe_and_classes)
        for name, rows in whole.train.items()
    }
    left_out = next(iter(found.values()))['left_out']
    if many_pixels(material) and (read := [name for name in names if name not in left_out]):
        found['pixels'] = probe_factors(
            material.train['pixels'],
            {read[0]: train[read[0]]},
            material.test['pixels'],
            {read[0]: test[read[0]]},
            probe=probe_and_classes,
        )
    return {
        factor: {
            name: probes['results'][factor]
            for name, probes in found.items() if factor in probes['results']
        }
        for factor in names if factor not in left_out
    }, left_out  # fmt: skip


def many_pixels(material):
    """Whether `pixels` are more than MANY_PIXELS, beside something else that is read."""
    return (
        len(material.train) > 1
        and 'pixels' in material.train
        and material.train['pixels'].shape[1] > MANY_PIXELS
    )


def without_many_pixels(material):
    """The material without `pixels` if they are many."""
    if not many_pixels(material):
        return material
    return material._replace(
        **{
            side: {name: rows for name, rows in getattr(material, side).items() if name != 'pixels'}
            for side in ('train', 'test')
        }
    )


def measures_of(material, factor, read, level, whole):
    """The measures of one factor, from {representation: what `probe_and_classes` gives}."""
    titles = {
        'test_accuracy': 'linear probe',
        'test_top5': 'top 5',
        'train_accuracy': 'train accuracy',
    }
    for name, title in [*titles.items()][: None if whole else 1]:
        if values := {
            of: value_of(found, name) for of, (found, _) in read.items() if name in found
        }:
            yield Measure(f'{factor}: {title}', values, MEANINGS[title])
    yield Measure(f'{factor}: chance', {of: Value(level) for of in read}, MEANINGS['chance'])
    few = min(NEIGHBOURS, len(material.train_factors[factor]))
    for k in sorted({1, few}) if whole else ():
        values = {of: neighbours(material, of, factor, k) for of in read}
        yield Measure(f'{factor}: {k}-NN', values, MEANINGS.get(f'{k}-NN', VOTE))


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
