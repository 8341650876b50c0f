"""The report as a newcomer meets it: warnings first, and words for every number."""

import math

import pytest

from contrastive_jax.panel import page
from contrastive_jax.panel.section import Measure, Section, Value

WARNING = 'Rows of h are all the same. Usually the encoder is not trained.'


def sections(warnings=(WARNING,), columns=('h', 'z')):
    values = {name: Value(0.5, 0.4, 0.6) for name in columns}
    measures = [
        Measure('label: linear probe', values, 'test accuracy of a logistic regression'),
        Measure('code: linear probe', values, 'test accuracy of a logistic regression'),
        Measure('effective_rank', values, 'a long meaning ' * 20),
    ]
    return [Section('What is read', 'text ' * 60, measures), Section('Doctor', warnings=warnings)]


def test_what_the_doctor_saw_stands_first_and_its_causes_last():
    text = page.as_text(sections()).splitlines()
    assert text[:2] == [
        'THE DOCTOR HAS 1 WARNING; THE USUAL CAUSES ARE AT THE END.',
        '  ! Rows of h are all the same.',
    ]
    assert text[-1] == f'  ! {WARNING}'
    html = page.as_html('title', (), sections())
    assert html.index('<li>Rows of h are all the same.</li>') < html.index('What is read')
    assert html.count('Usually the encoder') == 1


def test_nothing_suspicious_is_said_first_too():
    found = sections(warnings=())
    assert page.as_text(found).startswith('THE DOCTOR FOUND NOTHING SUSPICIOUS.')
    assert 'The doctor found nothing suspicious.' in page.as_html('title', (), found)


def test_every_measure_has_its_meaning_once():
    text = page.as_text(sections())
    assert text.count('linear probe: test accuracy of a logistic regression') == 1
    assert 'effective rank: a long meaning' in text


def test_lines_fit_a_terminal_and_no_column_is_lost():
    names = [f'layer_{number}' for number in range(9)]
    text = page.as_text(sections(columns=names))
    assert max(map(len, text.splitlines())) <= page.WIDTH
    for name in names:
        assert text.count(name) == 1
    assert text.count('0.500 [0.400, 0.600]') == 3 * 9


@pytest.mark.parametrize(
    ('number', 'expected'),
    [
        (0.5, '0.500'), (-12.3456, '-12.346'), (3.0, '3'), (1999.6, '2000'), (0.00123, '0.00123'),
        (2.5e7, '2.5e+07'), (math.inf, 'inf'), (math.nan, 'nan'),
    ],
)  # fmt: skip
def test_numbers_have_the_digits_that_matter(number, expected):
    assert page.shown(number) == expected
