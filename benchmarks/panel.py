"""Seconds of the whole panel: 10,000 x 128 embeddings, as many training rows, views, 100 classes.

python -m benchmarks.panel
"""

import time

import jax
import numpy as np

from contrastive_jax import panel
from contrastive_jax.panel.material import Material

ROWS, DIMENSIONS, CLASSES = 10_000, 128, 100


def split(generator, centres):
    """Rows around their class centres, another view of each, and the labels."""
    labels = generator.integers(CLASSES, size=ROWS)
    rows = centres[labels] + generator.normal(size=(ROWS, DIMENSIONS))
    other = rows + 0.3 * generator.normal(size=(ROWS, DIMENSIONS))
    return rows.astype(np.float32), other.astype(np.float32), labels


def main():
    """Times every section, compilation included, and prints the sum."""
    generator = np.random.default_rng(0)
    centres = 0.4 * generator.normal(size=(CLASSES, DIMENSIONS))
    train, test = (split(generator, centres) for _ in range(2))
    material = Material(
        train={'h': train[0]},
        test={'h': test[0]},
        train_factors={'label': train[2]},
        test_factors={'label': test[2]},
        train_views={'h': train[:2]},
        test_views={'h': test[:2]},
        about=(),
    )
    started = time.perf_counter()
    panel.measure(material, say=lambda title, seconds: print(f'{title}: {seconds:.1f} s'))
    print(f'in all: {time.perf_counter() - started:.1f} s on {jax.devices()}')


if __name__ == '__main__':
    main()
