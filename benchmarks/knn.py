"""Nearest neighbours beside scikit-learn: 10,000 rows of 128 dimensions against 50,000, one run.

python -m benchmarks.knn

The peer is its brute force on rows of unit length in float32 with squared distances, which order as
cosines do: the fastest of its ways. Its vote is not weighted, so that accuracies differ for k > 1.
"""

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.timing import interleaved
from contrastive_jax.evaluation import knn_accuracy

VOTERS, QUERIES, DIMENSIONS, CLASSES = 50_000, 10_000, 128, 10
ROUNDS = 3


def rows(generator, centres, count):
    """Noisy unit rows [count, d] around the centres of their classes, and the classes."""
    labels = generator.integers(0, len(centres), count)
    found = centres[labels] + 4 * generator.normal(size=(count, centres.shape[1]))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found.astype(np.float32), labels


def main():
    """Times both sides in turn and prints one line of a table for each k."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(CLASSES, DIMENSIONS))
    train, train_labels = rows(generator, centres, VOTERS)
    test, test_labels = rows(generator, centres, QUERIES)
    print('| k | ours, best and median | brute force | accuracy | ours is (medians) |')
    print('|---|---|---|---|---|')
    for k in (1, 20, 200):
        found = {}

        def ours(k=k, found=found):
            found['ours'] = knn_accuracy(train, train_labels, test, test_labels, k=k)

        def theirs(k=k, found=found):
            peer = KNeighborsClassifier(k, algorithm='brute').fit(train, train_labels)
            found['theirs'] = peer.score(test, test_labels)

        times = interleaved({'ours': ours, 'theirs': theirs}, ROUNDS)
        cells = ' | '.join(f'{best:.2f} and {median:.2f} s' for best, median in times.values())
        accuracy = ' and '.join(f'{found[side]:.4f}' for side in times)
        ratio = times['theirs'][1] / times['ours'][1]
        print(f'| {k} | {cells} | {accuracy} | {ratio:.1f}x |', flush=True)


if __name__ == '__main__':
    main()
