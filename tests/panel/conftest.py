"""Material of two well separated classes with everything that a panel may be given."""

import numpy as np
import pytest

from contrastive_jax.panel.material import Material


@pytest.fixture
def material():
    def rows(seed, count):
        generator = np.random.default_rng(seed)
        labels = generator.integers(0, 2, count)
        h = generator.normal(size=(count, 6)) + 4 * labels[:, None] * np.eye(6)[0]
        return labels, h.astype(np.float32), h[:, :3].astype(np.float32)

    def views(h, seed):
        generator = np.random.default_rng(seed)
        return tuple(h + 0.1 * generator.normal(size=h.shape).astype(np.float32) for _ in 'ab')

    labels, h, z = rows(0, 120)
    test_labels, test_h, test_z = rows(1, 100)
    return Material(
        train={'h': h, 'z': z},
        test={'h': test_h, 'z': test_z},
        train_factors={'label': labels},
        test_factors={'label': test_labels},
        train_views={'h': views(h, 2), 'z': views(z, 3)},
        test_views={'h': views(test_h, 4), 'z': views(test_z, 5)},
        about=('two classes',),
        in_file_order=True,
    )
