"""What is made of the pixels of an image, against what changes when the image does."""

import jax
import numpy as np
import pytest

from contrastive_jax.data import probing, sources
from contrastive_jax.data.probing.dataset import ProbingDataset, evaluation_draws
from contrastive_jax.data.probing.pixels import made_of_pixels


def noise(shape=(32, 32, 3)):
    images = np.random.default_rng(0).integers(0, 256, (20, *shape), np.uint8)
    return sources.ArraySource(images, np.arange(20) % 10, num_classes=10)


DATASETS = {
    'plain': lambda: probing.plain(noise()),
    'randbit': lambda: probing.randbit(noise(), num_bits=4),
    'randbit of hashes': lambda: probing.randbit(noise(), num_bits=4, code='hashed'),
    'multidigits': lambda: probing.multidigits(noise((8, 8, 1)), num_digits=2, canvas=32),
    'digit_on_image': lambda: probing.digit_on_image(
        noise(), digits=sources.open_source('digits', 'train'), num_unique=16
    ),
    'k_bit_images': lambda: probing.k_bit_images(noise(), num_bits=4),
}


@pytest.mark.parametrize('name', DATASETS)
def test_what_changes_with_the_image_is_made_of_pixels(name):
    dataset = DATASETS[name]()
    draws = evaluation_draws(jax.random.key(0))
    rows = dataset.source.take(np.arange(4))
    composed = [
        jax.tree.map(
            np.asarray,
            dataset.compose(
                draws,
                {'image': image, 'label': np.int32(3), 'id': np.int32(1)},
                jax.tree.map(jax.numpy.asarray, dict(dataset.tables)),
            ),
        )
        for image in rows['image']
    ]
    changing = {
        part
        for part, value in composed[0].items()
        if any(not np.array_equal(value, other[part]) for other in composed[1:])
    }
    assert made_of_pixels(dataset) == changing
    assert ('code' in changing) == ('hashes' in name)


def test_what_an_inner_function_makes_of_the_image_counts():
    def compose(draws, example, tables):
        del tables
        mean = jax.lax.fori_loop(0, 3, lambda i, x: x + 1, example['image'].mean())
        drawn = jax.random.uniform(draws.visit)
        return {'image': example['image'], 'mean': mean, 'drawn': drawn, 'both': mean + drawn}

    assert made_of_pixels(ProbingDataset(noise(), {}, compose)) == {'image', 'mean', 'both'}
