"""Seconds and memory of the measurements of embeddings: `python -m benchmarks.geometry`.

Uniformity of 50,000 x 128, the others of 10,000 x 128, float32, ten classes. A row is the time of
the first call, which compiles, the fastest and the median of three more, and the most memory that
the process took up in these calls beyond what it held before them, which compiling is part of.
"""

import ctypes
import functools
import platform
import threading
import time
from pathlib import Path

import jax
import numpy as np

from contrastive_jax import evaluation
from experiments import cli

ROUNDS = 3
LARGE, ROWS, DIMENSIONS = 50_000, 10_000, 128
PAGE = 4096
SAMPLED_EVERY = 0.002  # seconds


def resident():
    """Bytes of memory that the process holds."""
    return PAGE * int(Path('/proc/self/statm').read_text().split()[1])


class Peak:
    """The most that `resident` was between the entry and the exit."""

    def __enter__(self):
        if platform.libc_ver()[0] == 'glibc':
            ctypes.CDLL(None).malloc_trim(0)  # what is free already would not count when it is used
        self.before = self.most = resident()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.done.set()
        self.thread.join()

    def watch(self):
        """Looks every few milliseconds."""
        while not self.done.wait(SAMPLED_EVERY):
            self.most = max(self.most, resident())


def normal(seed, rows=ROWS):
    """Normal rows [rows, 128]."""
    return np.random.default_rng(seed).standard_normal((rows, DIMENSIONS), np.float32)


def cases():
    """Name to a function without arguments; the first is of 50,000 rows."""
    large, z1, z2 = normal(0, LARGE), normal(1), normal(2)
    labels, latents = np.arange(ROWS) % 10, z1[:, :10] + z2[:, :10]
    table = {'uniformity, 50,000 rows': functools.partial(evaluation.uniformity, large)}
    for function, *arrays in (
        (evaluation.uniformity, z1),
        (evaluation.uniformity_interval, z1),
        (evaluation.alignment, z1, z2),
        (evaluation.same_class_alignment, z1, labels),
        (evaluation.tolerance_interval, z1, labels),
        (evaluation.local_separation, z1, z2),
        (evaluation.similarity_histogram, z1, z2),
        (evaluation.collapse_indicators, z1),
        (evaluation.effective_rank, z1),
        (evaluation.rankme, z1),
        (evaluation.alpha_req, z1),
        (evaluation.covariance_spectrum, z1),
        (evaluation.adjusted_r2, z1, latents),
    ):
        table[function.__name__] = functools.partial(function, *arrays)
    table['random_projection_histogram'] = functools.partial(
        evaluation.random_projection_histogram, z1, jax.random.key(0), prior='uniform_hypersphere'
    )
    return table


def main():
    """Prints the table."""
    cli.use_large_pages()
    jax.block_until_ready(jax.random.normal(jax.random.key(0), (8,)))  # JAX's own start
    print(f'{"":28} {"first, s":>9} {"best, s":>9} {"median, s":>10} {"peak, MiB":>10}')
    for name, call in cases().items():
        times = []
        with Peak() as peak:
            for _ in range(1 + ROUNDS):
                started = time.perf_counter()
                call()
                times.append(time.perf_counter() - started)
        first, *others = times
        cells = f'{first:9.3f} {min(others):9.3f} {sorted(others)[ROUNDS // 2]:10.3f}'
        print(f'{name:28} {cells} {(peak.most - peak.before) / 2**20:10.0f}', flush=True)


if __name__ == '__main__':
    main()
