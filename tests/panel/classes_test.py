"""Accuracy within each class, few or many, and classes of which an image holds several."""

import numpy as np
import pytest

from contrastive_jax.panel import classes, reading


def found(accuracy, rows):
    rows = np.asarray(rows)
    return {
        'classes': 5 + np.arange(len(rows)),
        'accuracy': np.asarray(accuracy),
        'test_rows': rows,
        'train_rows': rows,
    }


def values_of(measures):
    return {
        measure.name: {of: value.value for of, value in measure.values.items()}
        for measure in measures
    }


def test_the_worst_class_and_the_mean_leave_out_classes_without_test_rows():
    within = {
        'h': found([0.5, np.nan, 0.9], [10, 0, 10]),
        'z': found([0.4, np.nan, 0.1], [10, 0, 10]),
    }
    measures, drawn, details = classes.by_class(within)
    assert values_of(measures) == {
        'label: mean of classes': {'h': pytest.approx(0.7), 'z': pytest.approx(0.25)},
        'label: worst class': {'h': 0.5, 'z': 0.1},
    }
    assert details['label: classes']['class'].tolist() == [5, 7]
    # The least of many is below the truth of its class; no interval of that class holds for it.
    assert measures[1].values['h'] == (0.5, None, None)
    ((caption, picture),) = drawn.items()
    assert 'Each interval is of that class alone' in caption
    assert picture.startswith(b'\x89PNG')


def test_of_a_thousand_classes_the_ends_are_drawn_and_all_are_in_the_details(monkeypatch):
    shown = []
    monkeypatch.setattr(classes.pictures, 'dots', lambda rows, *others: shown.append(rows) or b'')
    accuracy = np.random.default_rng(0).permutation(1000) / 1000
    _, _, details = classes.by_class({'h': found(accuracy, [1000] * 1000)})
    assert len(details['label: classes']['test accuracy']['h']) == 1000
    drawn = [row['h'].value for row in shown[0].values() if row]
    assert drawn == [*np.arange(999, 987, -1) / 1000, *np.arange(11, -1, -1) / 1000]
    assert '976 between' in shown[0]


def several(material):
    """The material with images that hold any of three classes, and an h that says which."""
    generator = np.random.default_rng(0)

    def factors(count):
        return {f'present_{c}': generator.integers(0, 2, count) for c in range(3)}

    train, test = factors(len(material.train['h'])), factors(len(material.test['h']))

    def told(of):
        return np.stack(list(of.values()), axis=1).astype(np.float32)

    noise = {'h': told(test), 'z': generator.normal(size=(len(material.test['h']), 3))}
    return material._replace(
        train={'h': told(train), 'z': generator.normal(size=(len(material.train['h']), 3))},
        test=noise,
        train_factors=train,
        test_factors=test,
    )


def test_several_classes_of_an_image_are_read_as_one_factor(material):
    material = several(material)
    section = reading.section(material, None)
    values = values_of(section.measures)
    assert values['classes: mean average precision']['h'] == 1
    assert values['classes: all right']['h'] == 1
    level = np.mean(list(material.test_factors.values()))
    assert values['classes: prevalence']['h'] == pytest.approx(level)
    assert section.text == ''
    assert values['classes: mean average precision']['z'] == pytest.approx(level, abs=0.15)
    assert not any(name.startswith('present_') for name in values)
    assert len(section.pictures) == 1


def test_of_many_factors_all_but_the_label_are_read_in_brief(material):
    generator = np.random.default_rng(0)
    splits = [
        {**of, **{f'f{i}': generator.integers(0, 2, len(of['label'])) for i in range(3)}}
        for of in (material.train_factors, material.test_factors)
    ]
    given = material._replace(train_factors=splits[0], test_factors=splits[1])
    section = reading.section(given, None)
    names = [measure.name for measure in section.measures]
    assert {'label: 1-NN', 'label: train accuracy', 'label: worst class'} <= {*names}
    assert [name for name in names if name.startswith('f')] == [
        f'f{i}: {what}' for i in range(3) for what in ('linear probe', 'chance')
    ]
    assert section.details['probes']['f1']['z']['train_accuracy'] > 0


def test_a_factor_that_repeats_another_is_read_once(material):
    twice = [
        {**of, 'label_1': of['label']} for of in (material.train_factors, material.test_factors)
    ]
    section = reading.section(
        material._replace(train_factors=twice[0], test_factors=twice[1]), None
    )
    assert 'label_1 is not read: it is label again.' in section.text
    assert not any(measure.name.startswith('label_1') for measure in section.measures)


def test_all_right_by_guessing_is_that_of_the_commonest_combination(material):
    generator = np.random.default_rng(0)

    def rare(count):
        return {f'present_{c}': (generator.uniform(size=count) < 0.02) * 1 for c in range(5)}

    train, test = rare(len(material.train['h'])), rare(len(material.test['h']))
    section = reading.section(material._replace(train_factors=train, test_factors=test), None)
    values = values_of(section.measures)
    guessed = np.mean([not any(row) for row in zip(*test.values(), strict=True)])
    assert guessed > 0.8
    assert values['classes: commonest combination'] == {'h': guessed, 'z': guessed}
    # The labels are drawn apart from the rows, which say nothing of them.
    assert values['classes: all right']['h'] <= guessed


def test_classes_that_cannot_be_read_are_counted_and_in_no_level(material):
    material = several(material)
    zeros, ones = (
        [
            np.full(len(of['present_0']), value)
            for of in (material.train_factors, material.test_factors)
        ]
        for value in (0, 1)
    )
    halves = np.arange(len(zeros[0])) % 2
    others = {
        'present_never': zeros,
        'present_always': ones,
        'present_untested': [halves, zeros[1]],
    }
    train, test = (
        {**of, **{name: splits[place] for name, splits in others.items()}}
        for place, of in enumerate((material.train_factors, material.test_factors))
    )
    section = reading.section(material._replace(train_factors=train, test_factors=test), None)
    values = values_of(section.measures)
    level = np.mean([test[f'present_{c}'] for c in range(3)])
    assert values['classes: prevalence']['h'] == pytest.approx(level)
    assert 'Of 6 classes present: 2 not probed' in section.text
    assert '1 without a precision' in section.text


def test_where_no_class_can_be_read_the_reason_is_given(material):
    splits = [
        {f'present_{c}': np.zeros(len(rows['h']), int) for c in 'ab'}
        for rows in (material.train, material.test)
    ]
    section = reading.section(
        material._replace(train_factors=splits[0], test_factors=splits[1]), None
    )
    assert section.measures == ()
    assert section.text.startswith('No class present can be read. Of 2 classes present: 2 not')


def test_the_label_is_read_and_not_the_factor_before_it_that_is_the_same(material):
    splits = [
        {'digit': of['label'], **of} for of in (material.train_factors, material.test_factors)
    ]
    section = reading.section(
        material._replace(train_factors=splits[0], test_factors=splits[1]), None
    )
    assert section.text == 'digit is not read: it is label again.'
    assert 'label: classes' in section.details
