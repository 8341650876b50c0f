"""Clusters of local features in the panel: features that know the objects agree with them."""

import numpy as np
import pytest

from contrastive_jax.panel import local_features
from contrastive_jax.panel.material import LocalFeatures


@pytest.fixture
def local(monkeypatch):
    monkeypatch.setattr(local_features, 'CLUSTERS', 3)
    regions = np.zeros((4, 16, 16), int)
    for image in range(4):
        regions[image, 2 * image : 2 * image + 4, :8] = 1
        regions[image, 12:, 8:] = 2
    told = np.eye(3)[regions[:, ::2, ::2]]
    noise = np.random.default_rng(0).normal(size=told.shape)
    images = np.random.default_rng(1).uniform(size=(4, 16, 16, 1))
    return LocalFeatures(images, {'block_group_1': noise, 'block_group_2': told}, regions)


def values_of(section):
    return {
        measure.name: {of: value.value for of, value in measure.values.items()}
        for measure in section.measures
    }


def test_features_that_know_the_objects_agree_and_noise_does_not(material, local):
    values = values_of(local_features.section(material._replace(local=local), None))
    assert list(values['agreement']) == ['pixels 2x2', 'block_group_1', 'block_group_2']
    assert values['agreement']['block_group_2'] == pytest.approx(1)
    assert values['foreground']['block_group_2'] == pytest.approx(1)
    assert values['agreement']['block_group_1'] == pytest.approx(0, abs=0.1)
    assert values['agreement']['pixels 2x2'] == pytest.approx(0, abs=0.1)
    assert set(values['places'].values()) == {64}


def test_what_the_place_alone_tells_and_what_an_untrained_encoder_does(material, local):
    swapped = dict(zip(local.maps, reversed(local.maps.values()), strict=True))
    values = values_of(
        local_features.section(material._replace(local=local._replace(untrained=swapped)), None)
    )
    assert 0.2 < values['of_another_image']['block_group_2'] < 0.8
    assert values['untrained']['block_group_1'] == pytest.approx(1)
    assert set(values['untrained']) == {'block_group_1', 'block_group_2'}


def test_where_all_objects_have_the_same_places_that_is_said(material, local):
    fixed = local._replace(regions=local.regions[:1].repeat(4, axis=0))
    section = local_features.section(material._replace(local=fixed), None)
    assert 'of_another_image' not in values_of(section)
    assert 'the same in all images' in section.text


def test_of_one_object_the_foreground_is_left_out(material, local):
    local = local._replace(regions=np.minimum(local.regions, 1))
    assert 'foreground' not in values_of(
        local_features.section(material._replace(local=local), None)
    )


def test_without_regions_there_is_the_picture_alone(material, local):
    section = local_features.section(material._replace(local=local._replace(regions=None)), None)
    assert list(values_of(section)) == ['places']
    assert 'not known' in section.text
    assert next(iter(section.pictures.values())).startswith(b'\x89PNG')


def test_without_maps_there_is_no_section(material):
    assert local_features.section(material, None) is None


def test_a_map_of_fewer_places_than_clusters_is_left_out_with_a_reason(material, local):
    few = local.maps['block_group_2'][:, :1, :1][:2]
    local = LocalFeatures(
        local.images[:2],
        {'block_group_1': local.maps['block_group_1'][:2], 'block_group_2': few},
        local.regions[:2],
        {'block_group_1': local.maps['block_group_1'][:2], 'block_group_2': few},
    )
    section = local_features.section(material._replace(local=local), None)
    assert list(values_of(section)['untrained']) == ['block_group_1']
    assert list(values_of(section)['places']) == ['pixels 2x2', 'block_group_1']
    assert 'block_group_2 is left out: it has 2 places in all images' in section.text


def test_known_regions_are_drawn_above_the_clusters(material, local, monkeypatch):
    shown, picture = [], local_features.cluster_map_picture
    monkeypatch.setattr(
        local_features,
        'cluster_map_picture',
        lambda images, maps: shown.append(maps) or picture(images, maps),
    )
    local_features.section(material._replace(local=local), None)
    assert list(shown[0]) == ['known regions', 'pixels 2x2', 'block_group_1', 'block_group_2']
    np.testing.assert_array_equal(shown[0]['known regions'], local.regions)
    local_features.section(material._replace(local=local._replace(regions=None)), None)
    assert 'known regions' not in shown[1]
