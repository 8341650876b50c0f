"""Colour histograms and what of them is read, against loops and closed forms."""

import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import colour_histogram, colour_r2


def test_every_pixel_is_counted_in_its_cell(rng):
    images = rng.uniform(size=(3, 5, 4, 3)).astype(np.float32)
    images[0, 0, 0] = (1.0, 0.0, 1.0)  # the ends belong to the outer cells
    expected = np.zeros((3, 27))
    for number, image in enumerate(images):
        for red, green, blue in image.reshape(-1, 3):
            places = [min(int(part * 3), 2) for part in (red, green, blue)]
            expected[number, places[0] * 9 + places[1] * 3 + places[2]] += 1 / 20
    found = colour_histogram(jnp.asarray(images), bins=3)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_images_without_colours_have_no_histogram():
    with pytest.raises(ValueError, match='no histogram of 4 bins'):
        colour_histogram(jnp.zeros((2, 4, 4, 1)))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def linear_data(rng, noise):
    """Embeddings [300, 4] and [200, 4], and histograms [., 3] of linear maps of them and noise."""
    sets, weights = [], rng.normal(size=(4, 3))
    for count in (300, 200):
        x = rng.normal(size=(count, 4))
        sets += [x, x @ weights + noise * rng.normal(size=(count, 3))]
    return sets


def test_a_linear_map_is_read_whole_and_noise_is_not(rng):
    assert colour_r2(*linear_data(rng, 0.0))['colour_r2'] == pytest.approx(1.0)
    train, of_train, test, of_test = linear_data(rng, 0.0)
    unrelated = colour_r2(train, rng.permutation(of_train), test, rng.permutation(of_test))
    # With p regressors of n rows a fit of noise is worse than the mean by about p / n.
    assert -0.1 < unrelated['colour_r2'] < 0.05


def test_the_share_is_of_all_cells_together(rng):
    train, of_train, test, of_test = linear_data(rng, 1.0)
    found = colour_r2(train, of_train, test, of_test)
    design = np.column_stack([np.ones(300), train])
    solution = np.linalg.solve(design.T @ design, design.T @ of_train)
    left = total = 0.0
    for row, target in zip(np.column_stack([np.ones(200), test]), of_test, strict=True):
        for cell in range(3):
            left += (target[cell] - row @ solution[:, cell]) ** 2
            total += (target[cell] - of_test[:, cell].mean()) ** 2
    assert found['colour_r2'] == pytest.approx(1 - left / total)
    assert found['colour_r2_low'] < found['colour_r2'] < found['colour_r2_high']


def test_a_cell_that_hardly_varies_counts_as_little(rng):
    train, of_train, test, of_test = linear_data(rng, 0.0)
    rare = [1e-3 * rng.normal(size=(len(rows), 1)) for rows in (train, test)]
    found = colour_r2(train, np.hstack([of_train, rare[0]]), test, np.hstack([of_test, rare[1]]))
    assert found['colour_r2'] > 0.999


def test_rows_that_do_not_go_together_are_refused(rng):
    train, of_train, test, of_test = linear_data(rng, 0.0)
    with pytest.raises(BadInput, match='300 and 200 embeddings of 4'):
        colour_r2(train, of_train[:-1], test, of_test)
    with pytest.raises(BadInput, match='to fit, 6 rows'):
        colour_r2(train[:5], of_train[:5], test, of_test)
    with pytest.raises(BadInput, match='all the same'):
        colour_r2(train, of_train, test, np.ones_like(of_test))
