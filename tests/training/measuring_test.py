"""What `config.measure` adds to the row of an evaluation, and which configs it refuses."""

import jax
import numpy as np
import pytest

from contrastive_jax import sharding
from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import cluster_agreement, cluster_maps, colour_histogram, colour_r2
from contrastive_jax.training import local_features, measuring
from contrastive_jax.training.build import build
from contrastive_jax.training.evaluate import Evaluator


def composed_digits(config):
    config.data = dict(source='digits', data_dir='', probing='multidigits', num_digits=2, canvas=40)
    return config


def test_the_row_has_the_agreement_of_every_layer(config, monkeypatch):
    monkeypatch.setattr(local_features, 'LOCAL_IMAGES', 4)
    config = composed_digits(config)
    config.measure = dict(clusters=3, patch=10)
    experiment = build(config, sharding.data_mesh(1))
    variables = jax.jit(experiment.init_state)(experiment.seed_key).variables
    with jax.set_mesh(experiment.mesh):
        local = local_features.local_features(experiment)(variables)
        row = measuring.measurement(experiment)(variables)(None, None)
    assert {name for name in row if name.startswith('agreement')} == {
        'agreement_3_pixels', *(f'agreement_3_block_group_{group}' for group in (1, 2, 3))
    }  # fmt: skip
    maps = cluster_maps(local.maps['block_group_2'], 3)
    expected = cluster_agreement(maps, local.regions)
    assert row['agreement_3_block_group_2'] == expected['agreement']
    assert row['foreground_3_block_group_2'] == expected['foreground']


def test_the_row_has_what_is_read_of_the_colours_of_the_images_at_rest(config, monkeypatch):
    config.data = dict(source='noise:60,size=16,channels=3', data_dir='', probing='randbit')
    config.data.num_bits = 1
    config.views = dict(name='simclr_cifar')
    # The probe reads other data: colours are those of `config.data` all the same.
    config.evaluation = dict(name='linear_probe', factor='code', data=dict(code='hashed'))
    config.measure = dict(colour_bins=2)
    experiment = build(config, sharding.data_mesh(2))
    variables = jax.jit(experiment.init_state)(experiment.seed_key).variables
    with jax.set_mesh(experiment.mesh):
        evaluator = Evaluator(experiment)
        row = evaluator(variables, experiment.evaluate)
        monkeypatch.setattr(measuring, 'colour_histograms', None)  # they are not made again
        assert evaluator(variables, experiment.evaluate) == row
        rows = [evaluator.embed(variables, split)['embeddings'] for split in ('train', 'test')]
    sets = []
    for dataset, embeddings in zip((experiment.train, experiment.test), rows, strict=True):
        images = dataset.source.take(np.arange(len(dataset.source)))['image']
        sets += [embeddings, colour_histogram(np.float32(images) / np.float32(255), 2)]
    assert row['colour_r2'] == pytest.approx(colour_r2(*sets)['colour_r2'], abs=1e-6)


@pytest.mark.parametrize(
    ('changes', 'sentence'),
    [
        (dict(measure=dict(clusters=(4, 0))), 'config.measure.clusters is 0'),
        (dict(measure=dict(clusters=4)), 'where objects lie is not known'),
        (dict(measure=dict(colour_bins=9)), 'config.measure.colour_bins is 9'),
        (dict(measure=dict(colour_bins=2)), r'images of shape \(28, 28, 1\) have no colours'),
        (dict(measure=dict(cluster=4)), "Did you mean 'clusters'"),
    ],
)
def test_what_cannot_be_measured_is_told_early(config, changes, sentence):
    config.update(changes)
    with pytest.raises(BadInput, match=sentence):
        build(config)


def test_patches_and_networks_without_maps_are_told_early(config):
    config = composed_digits(config)
    config.measure = dict(clusters=4, patch=41)
    with pytest.raises(BadInput, match='config.measure.patch is 41, larger'):
        build(config)
    config.measure.patch = 0
    config.model = dict(name='mlp', widths=(6,), head_widths=(4,))
    with pytest.raises(BadInput, match='config.model has no feature maps'):
        build(config)
    config.model = dict(name='convnet', channels=(4, 4, 4), features=8, head_widths=(8, 4))
    config.views = dict(name='centre_crop')
    with pytest.raises(BadInput, match='centre_crop does not show the whole image'):
        build(config)
