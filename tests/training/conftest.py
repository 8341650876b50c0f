"""A config small enough to train in a test."""

import pytest

from configs.chen2021 import randbit_digits


@pytest.fixture
def config():
    config = randbit_digits.get_config('smoke')
    config.num_steps = 6
    config.checkpoint_every = 2
    config.data.num_bits = 3
    return config
