"""Which sources the picture of local features takes, and which it refuses."""

import numpy as np
import pytest

from configs.chen2021 import local_features_laptop, randbit_digits
from contrastive_jax.errors import BadInput
from contrastive_jax.training.build import build
from experiments.chen2021.local_maps import maps_of_source


@pytest.fixture
def run(monkeypatch):
    """(config) -> the experiment, of which an untrained state stands in for a run's."""

    def restored(config):
        experiment = build(config)
        state = experiment.init_state(experiment.seed_key)
        monkeypatch.setattr(
            'contrastive_jax.training.restore.restored_run', lambda path: (experiment, state)
        )
        return experiment

    return restored


def test_maps_are_those_of_the_network_on_images_of_any_size(run):
    config = local_features_laptop.get_config('smoke')
    config.model.average_places = True
    experiment = run(config)
    ids = [0, 3]
    images, maps = maps_of_source('run', 'photographs,size=32,count=10', '', ids)
    assert images.shape == (2, 32, 32, 3)
    assert 0 <= images.min() < images.max() <= 1
    assert experiment.image_shape != images.shape[1:]
    sides = [values.shape[1] for values in maps.values()]
    assert sides == sorted(sides, reverse=True)
    assert all(len(values) == 2 and values.ndim == 4 for values in maps.values())
    other, _ = maps_of_source('run', 'photographs,size=32,count=10', '', ids[1:])
    np.testing.assert_array_equal(other[0], images[1])


def test_a_source_that_the_network_cannot_see_is_one_sentence(run):
    run(local_features_laptop.get_config('smoke'))
    with pytest.raises(BadInput, match='images of 32 x 32 pixels; .* takes only images of 64 x 64'):
        maps_of_source('run', 'photographs,size=32,count=10', '', [0])
    with pytest.raises(
        BadInput, match="--source is 'digits', with images of 1 channels; .* sees 3"
    ):
        maps_of_source('run', 'digits', '', [0])
    appending = randbit_digits.get_config('smoke')
    appending.data.num_bits = 2
    run(appending)
    with pytest.raises(BadInput, match='sees 3, of which 2 are appended'):
        maps_of_source('run', 'photographs,size=32,count=10', '', [0])
