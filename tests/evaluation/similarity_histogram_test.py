"""Histograms of cosines, against all pairs written out."""

import importlib

import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import similarity_histogram


def cosines(seed, count, dimensions=4):
    """Two sets of rows and their matrix of cosines, none within 1e-6 of a twentieth."""
    z1, z2 = np.random.default_rng(seed).normal(size=(2, count, dimensions))
    matrix = np.einsum('id,jd->ij', z1, z2)
    matrix /= np.linalg.norm(z1, axis=1)[:, None] * np.linalg.norm(z2, axis=1)[None]
    assert np.min(np.abs(matrix * 10 - np.round(matrix * 10))) > 1e-5
    return z1, z2, matrix


@pytest.mark.parametrize('elements', [2**22, 5 * 23, 1])
def test_counts_all_pairs_whatever_the_blocks(monkeypatch, elements):
    module = importlib.import_module(similarity_histogram.__module__)  # the name is the function's
    monkeypatch.setattr(module, 'SIMILARITIES_AT_ONCE', elements)
    z1, z2, matrix = cosines(0, 23)
    found = similarity_histogram(z1, z2, bins=20)
    own = np.eye(23, dtype=bool)
    edges = np.linspace(-1, 1, 21)
    np.testing.assert_array_equal(found['edges'], edges)
    for pairs, values in (('positive', matrix[own]), ('negative', matrix[~own])):
        density = np.histogram(values, edges, density=True)[0]
        np.testing.assert_allclose(found[f'{pairs}_density'], density)
        np.testing.assert_allclose(found[f'{pairs}_mean'], values.mean(), atol=1e-12)
        np.testing.assert_allclose(found[f'{pairs}_deviation'], values.std())
    smaller = np.minimum(found['positive_density'], found['negative_density'])
    np.testing.assert_allclose(found['overlap'], smaller.sum() / 10)


def test_closed_forms():
    """Orthogonal frames: positives in the last bin, negatives in the middle; no overlap."""
    found = similarity_histogram(np.eye(4), np.eye(4), bins=3)
    np.testing.assert_allclose(found['positive_density'], [0, 0, 1.5])
    np.testing.assert_allclose(found['negative_density'], [0, 1.5, 0])
    assert found['overlap'] == 0
    assert found['negative_deviation'] == 0
    same = similarity_histogram(np.ones((5, 2)), jnp.ones((5, 2), jnp.bfloat16), bins=7)
    np.testing.assert_allclose(same['overlap'], 1)
    opposite = similarity_histogram(np.ones((5, 2)), -np.ones((5, 2)), bins=7)
    np.testing.assert_allclose(opposite['negative_density'], [3.5, 0, 0, 0, 0, 0, 0])


def test_random_rows_follow_the_law_of_the_sphere():
    """In 3 dimensions the cosine of independent directions is uniform on [-1, 1]."""
    z1, z2 = np.random.default_rng(1).normal(size=(2, 300, 3))
    found = similarity_histogram(z1, z2, bins=10)
    # Pairs are uncorrelated: 89,700 of them, about 1 % a bin. Five deviations.
    np.testing.assert_allclose(found['negative_density'], 0.5, rtol=0.06)
    np.testing.assert_allclose(found['negative_deviation'], 3**-0.5, rtol=0.02)


def test_bad_input():
    with pytest.raises(BadInput, match='z1 and z2 must be'):
        similarity_histogram(np.ones((3, 2)), np.ones((4, 2)))
    with pytest.raises(BadInput, match='at least 2'):
        similarity_histogram(np.ones((1, 2)), np.ones((1, 2)))
    with pytest.raises(BadInput, match='bins is 0'):
        similarity_histogram(np.ones((2, 2)), np.ones((2, 2)), bins=0)
    with pytest.raises(BadInput, match='embeddings z2 are not finite'):
        similarity_histogram(np.ones((2, 2)), np.full((2, 2), np.inf))
