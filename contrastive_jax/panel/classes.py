"""The classes one by one: what the probe reads of each, and of images that hold several."""

import numpy as np

from contrastive_jax.evaluation.intervals import wilson
from contrastive_jax.evaluation.multi_label_probe import multi_label_probe
from contrastive_jax.panel import pictures
from contrastive_jax.panel.section import Measure, Value

# The most classes that are all drawn; of more, half as many from each end.
DRAWN = 24

MEANINGS = {
    'mean of classes': 'of the same probe: mean over classes of the accuracy within each',
    'worst class': (
        'of the same probe: accuracy within the class that is read worst, of many partly by chance'
    ),
    'mean average precision': 'of one probe a class: are the rows that have it ranked first?',
    'prevalence': 'share of test rows with a class, mean over classes: that precision by chance',
    'all right': (
        'share of test rows of which every class that is probed is rightly told to be there or not'
    ),
    'commonest combination': (
        'share of test rows with those of these classes that most training rows have: all right by '
        'guessing'
    ),
}


def by_class(within):
    """What the probe reads of each class of `label`.

    Args:
      within: {representation: what `linear_probe_by_class` gives}.

    Returns:
      (measures, pictures, details), as in a `Section`.
    """
    first = next(iter(within.values()))
    tested = first['test_rows'] > 0
    names, rows = first['classes'][tested], first['test_rows'][tested]
    accuracy = {of: found['accuracy'][tested] for of, found in within.items()}

    def value(of, place):
        share = float(accuracy[of][place])
        return Value(share, *wilson(round(share * rows[place]), int(rows[place])))

    measures = [
        Measure(f'label: {title}', {of: choose(of) for of in accuracy}, MEANINGS[title])
        for title, choose in (
            ('mean of classes', lambda of: Value(float(accuracy[of].mean()))),
            # Without an interval: one of a class chosen for its result covers far too seldom.
            ('worst class', lambda of: Value(float(accuracy[of].min()))),
        )
    ]
    order = np.argsort(-next(iter(accuracy.values())), kind='stable')
    best = order[: DRAWN // 2] if len(order) > DRAWN else order
    worst = order[-(DRAWN // 2) :] if len(order) > DRAWN else order[:0]

    def shown(places):
        return {f'class {names[p]}': {of: value(of, p) for of in accuracy} for p in places}

    gap = {f'{len(order) - DRAWN} between': {}} if len(order) > DRAWN else {}
    picture = pictures.dots(
        {**shown(best), **gap, **shown(worst)},
        'Which classes does the linear probe read?',
        'test accuracy',
    )
    caption = (
        f'Test accuracy within each class, sorted by that of {next(iter(within))}. Each interval '
        'is of that class alone: the best and the worst of many are so partly by chance.'
    )
    details = {
        'class': names,
        'test rows': rows,
        'train rows': first['train_rows'][tested],
        'test accuracy': accuracy,
    }
    return measures, {caption: picture}, {'label: classes': details}


def several_classes(material, present):
    """What a probe for each class reads of images that hold several.

    Args:
      material: a `Material`.
      present: the factors that say, 1 or 0, whether a class is there.

    Returns:
      (measures, pictures, details, text), as in a `Section`; the text says what is left out.
    """
    train, test = (
        np.stack([factors[name] for name in present], axis=1)
        for factors in (material.train_factors, material.test_factors)
    )
    probed = np.ptp(train, axis=0) > 0
    read = np.flatnonzero(probed & test.any(axis=0))
    text = left_out(probed, test.any(axis=0))
    if not len(read):
        return [], {}, {}, text
    found = {
        name: multi_label_probe(material.train[name], train, material.test[name], test)
        for name in material.train
    }
    shares = test.mean(axis=0)
    level, guessed = float(shares[read].mean()), commonest(train[:, probed], test[:, probed])
    values = {
        'mean average precision': lambda results: results['mean_average_precision'],
        'prevalence': lambda results: level,
        'all right': lambda results: results['exact_match'],
        'commonest combination': lambda results: guessed,
    }
    measures = [
        Measure(
            f'classes: {title}',
            {of: Value(value(results)) for of, results in found.items()},
            MEANINGS[title],
        )
        for title, value in values.items()
    ]
    precisions = {of: results['average_precision'] for of, results in found.items()}
    picture = pictures.dots(
        {
            present[p]: {of: Value(float(precision[p])) for of, precision in precisions.items()}
            for p in read[:DRAWN]
        },
        'Which classes does an image hold? (grey mark: chance)',
        'average precision',
        {present[p]: float(shares[p]) for p in read[:DRAWN]},
    )
    caption = 'Average precision of a probe for each class; the mark is the share of rows with it.'
    details = {
        'factor': present,
        'share of test rows': shares,
        'average precision': precisions,
    }
    return measures, {caption: picture}, {'classes present': details}, text


def left_out(probed, tested):
    """What of several classes is not read and why, from bool [c]: in train both, in test any."""
    unprobed, untested = int(np.sum(~probed)), int(np.sum(probed & ~tested))
    why = ' and '.join(
        f'{count} {reason}'
        for count, reason in (
            (unprobed, 'not probed, for all training rows have it or none'),
            (untested, 'without a precision, for no test row has it'),
        )
        if count
    )
    sentence = f'Of {len(probed)} classes present: {why}.' if why else ''
    return sentence if np.any(probed & tested) else f'No class present can be read. {sentence}'


def commonest(train, test):
    """The share of the rows of `test` that are as the commonest one of `train`."""
    combinations, counts = np.unique(train, axis=0, return_counts=True)
    return float(np.mean((test == combinations[np.argmax(counts)]).all(axis=1)))
