"""The doctor: warnings in words, each with what it saw and what usually causes it."""

import numpy as np

from contrastive_jax.evaluation.collapse import collapse_indicators, collapse_warning
from contrastive_jax.panel.section import Section

# Measures by which h is held against an untrained encoder and pixels; without an interval, so
# little is nothing.
COMPARED, LITTLE = ('label: linear probe', 'label: 1-NN', 'label: 20-NN', 'all: adjusted R2'), 0.01
# Test accuracy below that of the fitted rows by so much is far.
FAR = 0.2


def section(material, sections):
    """What is suspicious about the material or about what the other sections found."""
    found = {part.title: {m.name: m.values for m in part.measures} for part in sections}
    read = found.get('What is read', {})
    warnings = [
        *identical_views(material),
        *dead_dimensions(material),
        *collapsed(material),
        *duplicates(material),
        *file_order(material),
        *absent_classes(material),
        *scales(material),
        *far_probes(read),
        *swapped(material, read),
        *no_better_than_baselines(read, found.get('Latents', {})),
        *no_better_than_chance(read),
        *(warning for part in sections for warning in part.warnings),
    ]
    return Section('Doctor', '' if warnings else 'Nothing suspicious.', warnings=tuple(warnings))


def encoded(material):
    """The representations that are examined: what stands beside them may be as it is."""
    return [(name, rows) for name, rows in material.test.items() if name in ('h', 'z')]


def identical_views(material):
    """Views that are one and the same."""
    for name, (a, b) in material.test_views.items():
        same = np.max(np.abs(a - b), axis=1) <= 1e-6 * np.maximum(np.max(np.abs(a), axis=1), 1e-30)
        if (count := int(same.sum())) > len(a) / 2:
            yield (
                f'The two views of {count} of {len(a)} examples have the same {name}. Usually the '
                'augmentation was not applied, both views had one key, or the same file was given '
                'twice; alignment and mutual information then say nothing.'
            )


def dead_dimensions(material):
    """Dimensions that never change."""
    for name, rows in encoded(material):
        if count := int(np.sum(np.ptp(rows, axis=0) == 0)):
            yield (
                f'{count} of {rows.shape[1]} dimensions of {name} are constant. Usually units are '
                'dead (ReLU with a large learning rate), or columns are padding.'
            )


def collapsed(material):
    """Embeddings that have collapsed."""
    for name, rows in encoded(material):
        if sentence := collapse_warning(collapse_indicators(rows)):
            yield (
                f'{name}: {sentence} Usually the loss has nothing that repels, the temperature or '
                'the learning rate is too high, or the network is not trained; or all rows share '
                'a large mean, which a probe does not mind.'
            )


def duplicates(material):
    """Rows that stand in both splits, or several times in one."""
    if 'h' not in material.train:
        return
    train, test = (
        [row.tobytes() for row in np.ascontiguousarray(rows['h'], np.float32) if row.any()]
        for rows in (material.train, material.test)
    )
    count, known = len(material.test['h']), {*train}
    if shared := len([row for row in test if row in known]):
        yield (
            f'{shared} of {count} test rows stand among the training rows, to the bit. Usually the '
            'splits overlap or one file was given for both: accuracies are too high.'
        )
    if (twice := len(test) - len({*test})) > count / 100:
        yield (
            f'{twice} of {count} test rows repeat another one. Usually examples were embedded more '
            'than once (a padded last batch), or the encoder ignores its input.'
        )


def file_order(material):
    """Labels of which each stands in one piece of the file."""
    labels = material.test_factors.get('label')
    if labels is None or not material.in_file_order:
        return
    pieces, classes = 1 + int(np.sum(np.diff(labels) != 0)), len(set(labels.tolist()))
    if 1 < classes < len(labels) and pieces == classes:
        yield (
            'The test labels stand class after class in the file. Usually the examples are in the '
            'order of their folders: any metric on the first rows alone, or on batches in file '
            'order, sees few classes.'
        )


def absent_classes(material):
    """Classes of one split that the other lacks."""
    if 'label' not in material.test_factors:
        return
    train, test = (
        set(factors['label'].tolist())
        for factors in (material.train_factors, material.test_factors)
    )
    for here, there, names in ((test, train, 'test, training'), (train, test, 'training, test')):
        if missing := sorted(here - there):
            of, in_ = names.split(', ')
            yield (
                f'{len(missing)} of {len(here)} classes of the {of} rows have no {in_} row, such '
                f'as {missing[0]}. Usually a split was cut from a file in the order of its classes.'
            )


def scales(material):
    """Inputs that were not scaled, or rows of very different lengths."""
    for name, rows in encoded(material):
        if rows.min() >= 0 and 30 < rows.max() <= 255 and _whole(rows):
            yield (
                f'{name} are whole numbers from 0 to {rows.max():g}. Usually these are pixels and '
                'not features.'
            )
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
        middle = np.median(lengths)
        if middle > 0 and (lengths.max() > 20 * middle or np.any(lengths == 0)):
            yield (
                f'{name} has rows of length {lengths.min():.3g} to {lengths.max():.3g}, median '
                f'{middle:.3g}. Usually inputs were not normalised as in training, or some images '
                'are blank; everything here that is a cosine takes all rows as equally long.'
            )


def _whole(rows):
    return bool(np.all(rows[:100] == np.round(rows[:100])))


def far_probes(read):
    """Probes that fit their own rows far better than others."""
    for name, values in read.items():
        factor, _, what = name.partition(': ')
        if what != 'train accuracy':
            continue
        for of, train in values.items():
            test = read[f'{factor}: linear probe'][of]
            if train.value - test.value > FAR:
                yield (
                    f'The probe of {factor} on {of} reads {train.value:.2f} of its own rows and '
                    f'{test.value:.2f} of the others. Usually there are too few training rows for '
                    'the dimensions, or the splits are of different kinds.'
                )


def swapped(material, read):
    """The two of h and z in each other's place."""
    if not {'h', 'z'} <= {*material.train} or 'label: linear probe' not in read:
        return
    h, z = (read['label: linear probe'][name] for name in ('h', 'z'))
    dimensions = [material.test[name].shape[1] for name in ('h', 'z')]
    if z.low > h.high and dimensions[1] > dimensions[0]:
        yield (
            f'The probe reads more from z ({z.value:.2f}, {dimensions[1]} dimensions) than from h '
            f'({h.value:.2f}, {dimensions[0]}). Usually the two are swapped: h comes before the '
            'projection head and is wider.'
        )


def no_better_than_baselines(read, latents):
    """Encoders of which no more is read than of what stands beside them for comparison."""
    for of in ('untrained', 'pixels'):
        equal = [
            f'{name} ({values["h"].value:.3f}, {of} {values[of].value:.3f})'
            for name, values in {**read, **latents}.items()
            if name.startswith(COMPARED)
            and {'h', of} <= {*values}
            and values['h'].value <= (values[of].high or values[of].value + LITTLE)
        ]
        if equal:
            yield (
                f'No more is read from h than from {of}: {"; ".join(equal)}. Usually training is '
                'too short, or the loss was content with another feature.'
            )


def no_better_than_chance(read):
    """Encoders of which nothing is read."""
    for name, values in read.items():
        factor, _, what = name.partition(': ')
        if what == 'linear probe' and 'h' in values:
            level, found = read[f'{factor}: chance']['h'].value, values['h']
            if found.low <= level:
                yield (
                    f'The probe of {factor} on h is no better than chance: {found.value:.3f}, and '
                    f'the most frequent class has {level:.3f}. Usually the loss was content with '
                    'another feature, training is too short, or the labels are of other rows.'
                )
