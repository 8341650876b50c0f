"""Alignment of positive pairs and of classes."""

import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import (
    alignment,
    alignment_interval,
    same_class_alignment,
    tolerance,
)


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def test_mean_squared_distance_of_unit_rows():
    z1, z2 = draw(0, 9, 4), draw(1, 9, 4)
    expected = np.mean(
        [
            np.sum((a / np.linalg.norm(a) - b / np.linalg.norm(b)) ** 2)
            for a, b in zip(z1, z2, strict=True)
        ]
    )
    np.testing.assert_allclose(alignment(z1, z2), expected)
    np.testing.assert_allclose(alignment(5 * z1, 0.1 * z2), expected)


def test_closed_forms_and_zero_rows():
    z = draw(0, 6, 3)
    np.testing.assert_allclose(alignment(z, 2 * z), 0, atol=1e-15)
    np.testing.assert_allclose(alignment(z, -z), 4)
    np.testing.assert_allclose(alignment(np.eye(4), np.roll(np.eye(4), 1, axis=0)), 2)
    np.testing.assert_allclose(alignment(np.zeros((2, 3)), np.array([[1, 0, 0], [0, 0, 0]])), 0.5)
    assert alignment(jnp.ones((2, 3), jnp.bfloat16), jnp.ones((2, 3), jnp.float16)) < 1e-12


def test_interval_is_that_of_a_mean():
    z1, z2 = draw(0, 50, 4), draw(1, 50, 4)
    found = alignment_interval(z1, z2)
    each = [alignment(z1[i : i + 1], z2[i : i + 1]) for i in range(50)]
    np.testing.assert_allclose(found['alignment'], np.mean(each))
    half = 1.96 * np.std(each, ddof=1) / 50**0.5
    np.testing.assert_allclose(found['alignment_high'] - np.mean(each), half, rtol=1e-4)
    np.testing.assert_allclose(np.mean(each) - found['alignment_low'], half, rtol=1e-4)


def test_same_class_pairs_by_a_double_loop():
    z, labels = draw(2, 15, 3), np.arange(15) % 4
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    expected = np.mean(
        [
            np.sum((unit[i] - unit[j]) ** 2)
            for i in range(15)
            for j in range(15)
            if i != j and labels[i] == labels[j]
        ]
    )
    np.testing.assert_allclose(same_class_alignment(z, labels), expected)
    np.testing.assert_allclose(expected, 2 - 2 * tolerance(z, labels))
    assert same_class_alignment(np.ones((4, 3)), [0, 0, 1, 1]) == pytest.approx(0, abs=1e-15)


def test_bad_input():
    with pytest.raises(BadInput, match='z1 and z2 must be'):
        alignment(np.ones((3, 2)), np.ones((4, 2)))
    with pytest.raises(BadInput, match='embeddings z2 are not finite'):
        alignment(np.ones((1, 2)), np.full((1, 2), np.inf))
    with pytest.raises(BadInput, match='at least 2'):
        alignment_interval(np.ones((1, 2)), np.ones((1, 2)))
    with pytest.raises(BadInput, match='3 classes of one row each'):
        same_class_alignment(np.ones((3, 2)), [0, 1, 2])
