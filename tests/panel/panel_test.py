"""The panel as a whole: every section, on little and on much, as page, JSON and text."""

import html.parser
import json
import subprocess
import sys

import jax
import numpy as np
import pytest

from contrastive_jax import panel
from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import alignment, hardness, linear_probe, protocols, uniformity
from contrastive_jax.evaluation.embedding_files import Embeddings
from contrastive_jax.panel import (
    dimensions,
    geometry,
    information,
    latents,
    page,
    pictures,
    reading,
)
from contrastive_jax.panel.material import of_files


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    monkeypatch.setattr(information, 'STEPS', 20)


def by_name(sections):
    return {measure.name: measure.values for part in sections for measure in part.measures}


def test_every_number_is_that_of_the_function(material):
    sections = panel.measure(material)
    assert [part.title for part in sections] == [
        'What is read', 'Geometry', 'Dimensions', 'Mutual information', 'Doctor',
    ]  # fmt: skip
    found = by_name(sections)
    for name in ('h', 'z'):
        expected = linear_probe(
            material.train[name], material.train_factors['label'],
            material.test[name], material.test_factors['label'],
        )  # fmt: skip
        value = found['label: linear probe'][name]
        assert value == tuple(expected[f'test_accuracy{end}'] for end in ('', '_low', '_high'))
        assert found['uniformity'][name].value == pytest.approx(uniformity(material.test[name]))
        assert found['alignment'][name].value == alignment(*material.test_views[name])
    assert {'views, bits', 'class, bits'} <= set(found)


def test_who_receives_the_gradient_is_that_of_the_function(material):
    for given, temperature in ((None, 0.2), (0.3, 0.3)):
        section = geometry.section(material._replace(temperature=given), jax.random.key(0))
        found = {measure.name: measure.values for measure in section.measures}
        for name in ('h', 'z'):
            expected = hardness(*material.test_views[name], temperature=temperature)
            assert found['temperature'][name].value == temperature
            assert found['negatives'][name].value == 99
            for field, value in (
                ('gradient_on_nearest_tenth', expected['gradient_share'][0]),
                ('effective_negatives', expected['effective_negatives']),
            ):
                assert found[field][name].value == pytest.approx(value)
            (shares,) = section.details.values()
            np.testing.assert_allclose(
                shares[name][f'{temperature:g}'], expected['gradient_share'], rtol=1e-6
            )


def test_anchors_and_keys_are_drawn_from_all_rows(material, monkeypatch):
    monkeypatch.setattr(geometry, 'ANCHORS', 5)
    monkeypatch.setattr(geometry, 'KEYS', 20)
    a, b = (np.arange(2, 202, dtype=np.float32).reshape(100, 2) + side for side in (0, 0.5))
    seen = []

    def recorded(anchors, keys, index, *, temperature):
        np.testing.assert_array_equal(anchors + 0.5, keys[index])
        seen.append([int(np.flatnonzero((b == row).all(axis=1))[0]) for row in keys])
        return hardness(anchors, keys, index, temperature=temperature)

    monkeypatch.setattr(geometry, 'hardness', recorded)
    for seed in range(2):
        found, _ = geometry.hard_negatives(a, b, jax.random.key(seed), None)
        assert found['negatives'] == 19
    drawn = {tuple(rows) for rows in seen}
    assert len(drawn) == 2  # one for each key, whatever the temperature
    assert all(len({*rows}) == 20 and max(rows) >= 40 for rows in drawn)
    assert all(max(rows[:5]) >= 20 for rows in drawn)


def test_held_out_pairs_of_a_class_share_no_example(material):
    pairs = information.pairs_by_kind(material, jax.random.key(0))
    held_out = np.concatenate(pairs['class'][1])
    assert len(np.unique(held_out, axis=0)) == len(held_out) >= 98
    label_of = {row.tobytes(): label for row, label in zip(
        material.test['h'], material.test_factors['label'], strict=True
    )}  # fmt: skip
    assert all(
        label_of[x.tobytes()] == label_of[y.tobytes()]
        for x, y in zip(*pairs['class'][1], strict=True)
    )


def test_estimates_of_both_kinds_are_drawn_with_their_intervals(monkeypatch):
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    monkeypatch.setattr(pictures, 'drawn', lambda draw, *others, **options: draw(axes))
    ceilings = dict(ceiling_bits=9.0, temperature_ceiling_bits=8.0)
    pictures.information({
        'views': dict(bits=5.0, bits_low=4.0, bits_high=5.5, **ceilings),
        'class': dict(bits=2.0, bits_low=1.5, bits_high=3.0, **ceilings),
    })  # fmt: skip
    ends = [bars.errorbar.lines[2][0].get_segments()[0][:, 1].tolist() for bars in axes.containers
            if hasattr(bars, 'errorbar') and bars.errorbar]  # fmt: skip
    assert ends == [[4.0, 5.5], [1.5, 3.0]]


def test_spectra_of_unit_rows_and_as_they_are(material):
    scaled = material._replace(test={'h': 3 * material.test['h']})
    section = dimensions.section(scaled, jax.random.key(0))
    found = {measure.name: measure.values['h'].value for measure in section.measures}
    variance = 9 * np.var(material.test['h'].astype(float), axis=0, ddof=1).sum()
    assert found['variance_unscaled'] == pytest.approx(variance, rel=1e-5)
    assert found['above_1_percent_unscaled'] == 6


def test_rows_alone_are_enough(material):
    bare = material._replace(
        train={}, test={'h': material.test['h']}, train_factors={}, test_factors={},
        train_views={}, test_views={},
    )  # fmt: skip
    sections = panel.measure(bare)
    assert 'no labels' in sections[0].text
    assert 'need two views' in sections[1].text
    assert {'uniformity', 'effective_rank'} <= set(by_name(sections))


def test_the_page_needs_nothing_else_and_is_well_formed(material):
    sections = panel.measure(material._replace(about=('a <b> & c',)))
    text = page.as_html('What is in a.npz', ('a <b> & c',), sections)
    open_tags = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag, attributes):
            if tag not in ('meta', 'img', 'br'):
                open_tags.append(tag)
            for name, value in attributes:
                assert name not in ('src', 'href') or value.startswith('data:image/png;base64,')

        def handle_endtag(self, tag):
            assert open_tags.pop() == tag

    Reader().feed(text)
    assert open_tags == []
    assert 'a &lt;b&gt; &amp; c' in text
    assert text.count('<img') == sum(len(part.pictures) for part in sections) > 5


def test_json_and_text_hold_the_same_numbers(material):
    sections = panel.measure(material)
    read = json.loads(page.as_json(material.about, sections))
    values = read['sections']['Geometry']['measures']['uniformity']['h']
    assert values['low'] < values['value'] < values['high']
    line = next(x for x in page.as_text(sections).splitlines() if x.startswith('  uniformity  '))
    assert f'{values["value"]:.3f} [{values["low"]:.3f}, {values["high"]:.3f}]' in line


def embeddings(count, seed=0, **fields):
    rows = np.random.default_rng(seed).normal(size=(count, 4)).astype(np.float32)
    given = dict(h=rows, z=None, factors={'label': np.arange(count) % 3}, ids=None, source='a.npz')
    return Embeddings(**{**given, **fields})


def test_one_file_is_halved_without_overlap():
    given = embeddings(21)
    found = of_files(given, views=embeddings(21, seed=1))
    both = np.concatenate([found.train['h'], found.test['h']])
    assert sorted(map(tuple, both)) == sorted(map(tuple, given.h))
    assert (len(found.train['h']), len(found.test['h'])) == (10, 11)
    a, _ = found.test_views['h']
    np.testing.assert_array_equal(a, found.test['h'])


def test_latents_of_a_file_stay_beside_their_rows():
    given = embeddings(21)
    given = given._replace(latents=given.h[:, :2])
    for found in (of_files(given), of_files(given, embeddings(9, seed=1))):
        np.testing.assert_array_equal(found.test_latents, found.test['h'][:, :2])
        found = by_name([latents.section(found, None)])
        assert found['all: R2']['h'].value == pytest.approx(1)


def test_two_files_keep_their_rows():
    found = of_files(embeddings(9), embeddings(12, seed=1))
    assert (len(found.train['h']), len(found.test['h'])) == (12, 9)
    assert list(found.train_factors) == ['label']


def test_files_that_do_not_belong_together_are_refused():
    with pytest.raises(BadInput, match='8 rows and a.npz 9'):
        of_files(embeddings(9), views=embeddings(8))
    with pytest.raises(BadInput, match='4 dimensions in b.npz and 3 in a.npz'):
        of_files(embeddings(9, h=np.ones((9, 3))), embeddings(9, source='b.npz'))
    with pytest.raises(BadInput, match='at least 2'):
        of_files(embeddings(1))


def test_a_perfect_probe_is_drawn(material):
    rows = np.eye(2, dtype=np.float32)
    labels = np.arange(2000) % 2
    perfect = material._replace(
        train={'h': rows[labels]}, test={'h': rows[labels]}, train_views={}, test_views={},
        train_factors={'label': labels}, test_factors={'label': labels},
    )  # fmt: skip
    found = reading.section(perfect, None)
    assert found.measures[0].values['h'].value == 1
    assert len(found.pictures) == 2  # the factor, and its classes


@pytest.mark.slow
def test_projections_in_one_file_alone_are_measured_and_not_probed():
    found = of_files(embeddings(30, z=np.eye(30, 3)), embeddings(31, seed=1))
    sections = panel.measure(found)
    assert set(by_name(sections)['label: linear probe']) == {'h'}
    assert set(by_name(sections)['uniformity']) == {'h', 'z'}


def test_the_help_of_metric_names_every_protocol():
    done = subprocess.run(
        [sys.executable, '-m', 'experiments.evaluate', '--help'], capture_output=True, text=True
    )
    help_of = done.stdout.split('\n  --metric:')[1].split('\n  --output:')[0]
    assert [name for name in protocols.__all__ if name not in help_of] == []


def test_of_many_pixels_one_factor_is_read(material, monkeypatch):
    monkeypatch.setattr(reading, 'MANY_PIXELS', 5)
    pixels = {side: {**getattr(material, side), 'pixels': getattr(material, side)['h']}
              for side in ('train', 'test')}  # fmt: skip
    factors = {
        f'{side}_factors': {'side': rows['h'][:, 0] > 0, **getattr(material, f'{side}_factors')}
        for side, rows in (('train', material.train), ('test', material.test))
    }
    section = reading.section(material._replace(**pixels, **factors), None)
    found = by_name([section])
    assert set(found['label: linear probe']) == {'h', 'z', 'pixels'}
    assert set(found['side: linear probe']) == {'h', 'z'}
    assert 'one factor is read alone' in section.text


def test_the_entropy_of_the_classes_is_in_bits(material):
    labels = np.repeat([4, 7, 7, 9], 25)  # shares 1/4, 1/2, 1/4
    known = material._replace(test_factors={'label': labels})
    assert information.entropy_of_classes(known) == pytest.approx(1.5)
    assert (
        'The classes themselves have 1.50 bits.'
        in information.section(known, jax.random.key(0)).text
    )
