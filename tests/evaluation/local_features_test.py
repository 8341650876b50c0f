"""Clusters of local features: planted ones, chance, and regions of cells by a plain loop."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import (
    cluster_agreement,
    cluster_map_picture,
    cluster_maps,
    image_patches,
    layer_agreements,
)
from contrastive_jax.evaluation.local_features import regions_of_cells


def draw(seed=0):
    return np.random.default_rng(seed)


def planted(shape=(3, 6, 5), clusters=3, seed=0):
    """Features around orthogonal directions, of any length, and which they are of."""
    ids = draw(seed).integers(clusters, size=shape)
    lengths = draw(seed + 1).uniform(0.1, 1000, size=(*shape, 1))
    return lengths * (np.eye(8)[ids] + 0.01 * draw(seed + 2).normal(size=(*shape, 8))), ids


def test_patches_are_the_pixels_of_each_square():
    images = draw().uniform(size=(2, 9, 7, 3))
    patches = image_patches(images, 3)
    assert patches.shape == (2, 3, 2, 27)
    np.testing.assert_array_equal(patches[1, 2, 1], images[1, 6:9, 3:6].ravel())
    np.testing.assert_array_equal(patches[0, 0, 1], images[0, 0:3, 3:6].ravel())


@pytest.mark.parametrize('per_image', [False, True])
def test_clusters_are_those_of_the_directions_by_falling_size(per_image):
    features, ids = planted()
    maps = cluster_maps(jnp.asarray(features, jnp.bfloat16), 3, per_image=per_image)
    assert maps.shape == ids.shape
    for images in [[0], [1], [2]] if per_image else [[0, 1, 2]]:
        pairs = set(zip(ids[images].ravel(), maps[images].ravel(), strict=True))
        assert len(pairs) == 3  # one to one
        counts = np.bincount(maps[images].ravel())
        assert np.all(np.diff(counts) <= 0)


def test_zero_features_and_fewer_different_ones_than_clusters():
    features = np.zeros((1, 4, 4, 2))
    features[0, 0, 0] = 5, 0
    maps = cluster_maps(features, 4)
    assert maps[0, 0, 0] == 1
    assert maps.sum() == 1


def test_agreement_is_one_for_the_regions_themselves_and_zero_for_noise():
    """Regions of blocks of cells, in blocks of 4 x 4 pixels; ids may be any."""
    cells = np.repeat(np.repeat(draw().integers(4, size=(40, 3, 3)), 2, axis=1), 2, axis=2)
    regions = np.repeat(np.repeat(cells, 4, axis=1), 4, axis=2)
    same = cluster_agreement(np.array([9, 2, 0, 5])[cells], regions)
    assert same['agreement'] == pytest.approx(1)
    assert same['foreground'] == pytest.approx(1)
    assert same['images'] == 40
    noise = cluster_agreement(draw(1).integers(4, size=cells.shape), regions)
    for name in ('agreement', 'foreground'):
        assert noise[f'{name}_low'] - 0.02 < 0 < noise[f'{name}_high'] + 0.02
    assert abs(noise['agreement']) < 0.05
    figure_ground = cluster_agreement((cells > 0).astype(int), regions)
    assert 0.2 < figure_ground['agreement'] < 0.9
    assert abs(figure_ground['foreground']) < 1e-9  # tells digits from the ground, not apart


def test_images_that_have_nothing_to_agree_on_are_left_out():
    regions = np.zeros((4, 4, 4), int)
    regions[1] = np.arange(16).reshape(4, 4)  # each cell its own
    regions[2, :2] = 1  # one object
    regions[3] = np.repeat([1, 2], 8).reshape(4, 4)  # no background
    found = cluster_agreement(regions, regions)
    assert found['images'] == 2
    assert found['foreground_images'] == 1
    assert found['agreement'] == found['foreground'] == pytest.approx(1)
    assert math.isnan(found['foreground_low'])
    assert math.isnan(cluster_agreement(regions[:1], regions[:1])['agreement'])


@pytest.mark.parametrize('shape', [(4, 3), (12, 10), (5, 10), (1, 1)])
def test_a_cell_is_of_the_region_of_most_of_its_pixels(shape):
    regions = draw().choice([0, 3, 4], size=(5, 12, 10))
    expected = np.zeros((5, *shape), int)
    for n in range(5):
        for i in range(shape[0]):
            for j in range(shape[1]):
                pixels = [
                    regions[n, y, x]
                    for y in range(12)
                    for x in range(10)
                    if i <= (y + 0.5) * shape[0] / 12 < i + 1
                    and j <= (x + 0.5) * shape[1] / 10 < j + 1
                ]
                expected[n, i, j] = np.argmax(np.bincount(pixels))
    np.testing.assert_array_equal(regions_of_cells(regions, shape), expected)


def test_the_picture_has_images_and_every_map_with_one_colour_a_cluster(tmp_path):
    images, maps = draw().uniform(size=(3, 8, 8, 1)), np.arange(27).reshape(3, 3, 3) % 14
    figure = cluster_map_picture(images, {'patches': maps, 'group 2': maps[:, :2] % 3})
    assert len(figure.axes) == 9
    assert [axes.get_ylabel() for axes in figure.axes[::3]] == ['images', 'patches', 'group 2']
    shown = np.concatenate([axes.images[0].get_array() for axes in figure.axes[3:6]])
    assert shown.shape == (9, 3, 3)
    assert len(np.unique(shown.reshape(-1, 3), axis=0)) == 14
    figure.savefig(tmp_path / 'maps.png')
    assert (tmp_path / 'maps.png').stat().st_size > 5000
    assert len(cluster_map_picture(np.repeat(images, 3, axis=3), maps).axes) == 6


def test_bad_input_is_named():
    features, maps = np.ones((2, 3, 3, 4)), np.zeros((2, 3, 3), int)
    with pytest.raises(BadInput, match='num_clusters is 19, outside 1..18'):
        cluster_maps(features, 19)
    with pytest.raises(BadInput, match=r'num_clusters is 10, outside 1..9'):
        cluster_maps(features, 10, per_image=True)
    with pytest.raises(BadInput, match=r'features must be \[n, h, w, c\]'):
        cluster_maps(features[0], 2)
    features[1, 0, 0, 2] = np.nan
    with pytest.raises(BadInput, match='1 of 18 local features are not finite, the first is row 9'):
        cluster_maps(features, 2)
    with pytest.raises(BadInput, match='patches of 4 pixels do not fit'):
        image_patches(features, 4)
    with pytest.raises(BadInput, match='of the same images'):
        cluster_agreement(maps, maps[:, :2])
    with pytest.raises(BadInput, match='maps must be integers'):
        cluster_agreement(maps + 0.5, maps)
    with pytest.raises(BadInput, match='regions must be integers'):
        cluster_agreement(maps, maps - 1)
    with pytest.raises(BadInput, match=r'images must be \[n, H, W, 1 or 3\]'):
        cluster_map_picture(features, maps)
    with pytest.raises(BadInput, match='a map for each of the 2 images'):
        cluster_map_picture(np.ones((2, 3, 3, 1)), maps[:1])


def test_layers_are_compared_with_raw_pixels_of_the_same_images():
    features, ids = planted((2, 4, 4), clusters=3)
    regions = np.kron(ids, np.ones((8, 8), int))  # each place is 8 x 8 pixels
    images = np.broadcast_to(draw().uniform(size=3), (2, 32, 32, 3))  # pixels tell nothing
    few = features[:1, :1, :1]
    found = layer_agreements(
        images, {'deep': features, 'few': few}, regions, num_clusters=(3, 5), patch=8
    )
    layers = {name.split('_', 2)[2] for name in found if name.startswith('agreement_3')}
    assert layers == {'deep', 'pixels'}  # one place is fewer than 3 clusters
    assert found['agreement_3_deep'] == pytest.approx(1.0)
    assert found['foreground_3_deep'] == pytest.approx(1.0)
    assert found['agreement_3_pixels'] == pytest.approx(0.0, abs=1e-9)
    scores = cluster_agreement(cluster_maps(features, 5), regions)
    assert found['agreement_5_deep'] == scores['agreement'] < 1
    assert layer_agreements(images, {}, regions) == layer_agreements(
        images, {}, regions, num_clusters=(8,), patch=4
    )
