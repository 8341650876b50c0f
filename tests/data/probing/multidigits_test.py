"""MultiDigits: every digit is where the factors say, and what they say."""

import numpy as np
import pytest
from scipy import stats

from contrastive_jax.data import probing, sources
from contrastive_jax.errors import BadInput
from contrastive_jax.randomness import Role, key_for, keys_for_examples
from tests.data.probing.composing import composed, sides


@pytest.fixture(scope='module')
def source():
    return sources.open_source('digits', 'train')


def test_the_canvas_is_the_maximum_of_the_digits_at_their_places(source):
    dataset = probing.multidigits(source, num_digits=3, canvas=60)
    ids = np.arange(30)
    examples = composed(dataset, ids)
    of_class = {c: source.images[source.labels == c] / np.float32(255) for c in range(10)}
    for i in ids:
        canvas, rest = np.zeros((60, 60)), examples['image'][i, ..., 0]
        for j in (1, 2, 3):
            top, left = examples[f'top_{j}'][i], examples[f'left_{j}'][i]
            window = rest[top : top + 28, left : left + 28]
            # Of the class that is declared, one digit fits under the canvas at this place.
            below = of_class[examples[f'label_{j}'][i]][..., 0]
            fits = np.flatnonzero(np.all(below <= window + 1e-6, axis=(1, 2)))
            assert len(fits)
            best = below[fits[np.argmax(below[fits].sum(axis=(1, 2)))]]
            part = canvas[top : top + 28, left : left + 28]
            part[:] = np.maximum(part, best)
        np.testing.assert_allclose(canvas, rest, atol=1e-6)
        first = source.labels[i]
        assert examples['label'][i] == examples['label_1'][i] == first


def test_labels_and_places_are_uniform_and_presence_is_theirs(source):
    dataset = probing.multidigits(source, num_digits=2, canvas=32)
    examples = composed(dataset, np.arange(0, 4000, 2))
    counts = np.bincount(examples['label_2'], minlength=10)
    assert stats.chisquare(counts).pvalue > 1e-3
    table = np.zeros((5, 5))
    np.add.at(table, (examples['top_1'], examples['left_1']), 1)
    assert stats.chisquare(table.ravel()).pvalue > 1e-3
    for c in range(10):
        there = (examples['label_1'] == c) | (examples['label_2'] == c)
        np.testing.assert_array_equal(examples[f'present_{c}'], there)
    assert set(dataset.factors) == set(examples) - {'image', 'channels'}


def test_a_grid_holds_no_two_digits_in_one_cell(source):
    dataset = probing.multidigits(source, num_digits=16, placement='grid')
    examples = composed(dataset, np.arange(40))
    cells = np.stack(
        [examples[f'top_{j}'] // 28 * 4 + examples[f'left_{j}'] // 28 for j in range(1, 17)], 1
    )
    assert np.all(np.sort(cells, axis=1) == np.arange(16))
    assert len(np.unique(cells[:, 0])) > 8
    assert np.all(examples['top_1'] % 28 == 0)


def test_two_sizes_and_single_digits_of_any_size(source):
    dataset = probing.multidigits(source, num_digits=2, sizes=(20, 80))
    assert dataset.factors['top_1'] == 93
    assert dataset.factors['top_2'] == 33
    single = composed(probing.multidigits(source, num_digits=1, sizes=28, canvas=28), np.arange(5))
    np.testing.assert_allclose(single['image'], source.images[:5] / 255, atol=1e-6)
    large = composed(probing.multidigits(source, num_digits=1, sizes=56), np.arange(5))
    for image, original in zip(large['image'], source.images, strict=False):
        assert image.sum() == pytest.approx(4 * original.sum() / 255, rel=0.02)


def test_fixed_by_id_or_fresh_at_each_visit_and_shared_by_the_sides(source):
    for fresh in (False, True):
        dataset = probing.multidigits(source, num_digits=2, fresh=fresh)
        first, second = sides(dataset, np.arange(6))
        later, _ = sides(dataset, np.arange(6), step=1)
        np.testing.assert_array_equal(first['image'], second['image'])
        assert np.array_equal(first['image'], later['image']) == (not fresh)
        alone = sides(dataset, [4])[0] if not fresh else None
        if alone:
            np.testing.assert_array_equal(alone['image'][0], first['image'][4])


def test_the_entropies_are_those_of_the_places_and_the_second_label(source):
    keys = keys_for_examples(key_for(0, Role.TRAIN_EXAMPLES), np.arange(20_000, dtype=np.int32))
    measured = probing.multidigits(source, num_digits=2, sizes=(28, 20), canvas=43).measure(keys)
    assert measured['top_1_bits'] == pytest.approx(4, abs=0.01)  # 43 - 28 + 1 = 16 places
    assert measured['left_1_bits'] == pytest.approx(4, abs=0.01)
    assert measured['label_2_bits'] == pytest.approx(np.log2(10), abs=0.01)
    assert 'label_2_bits' not in probing.multidigits(source, num_digits=1).measure(keys[:2])


def test_a_source_that_is_not_in_memory_is_refused(source):
    encoded = sources.EncodedSource(lambda i: None, np.zeros(3, np.int32), 1, (28, 28, 1))
    with pytest.raises(BadInput, match='config.data.source is encoded, whose 3 images of'):
        probing.multidigits(encoded, num_digits=1)


@pytest.mark.parametrize(
    ('options', 'sentence'),
    [
        (dict(num_digits=17, placement='grid'), 'num_digits is 17; a canvas of 112 has 16 cells'),
        (dict(num_digits=1, sizes=(120,)), 'larger than the canvas of 112'),
        (dict(num_digits=3, sizes=(20, 30)), r'sizes is \(20, 30\); it must be one size'),
        (dict(num_digits=0), 'num_digits is 0'),
        (dict(num_digits=1, placement='ring'), "placement is 'ring', not one of"),
    ],
)
def test_options_that_cannot_be(source, options, sentence):
    with pytest.raises(BadInput, match=sentence):
        probing.multidigits(source, **options)
