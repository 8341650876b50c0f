"""The time from the start of a process to its first batch on the device: see `benchmarks.data`.

python -m benchmarks.first_batch digits '' takes it once, in itself.
"""

import json
import resource
import subprocess
import sys
import time

TITLE = 'first batch'
SOURCES = ('digits', 'tfds:mnist', 'tfds:cifar10')
BATCH = 256
ROUNDS = 5
COLUMNS = ('total', 'processor', 'importing', 'opening', 'batch')


def first_batch(source, data_dir, started):
    """Opens both splits of a source, as a run does, and puts a batch on the device.

    Args:
      source: its name.
      data_dir: where TFDS has prepared sets.
      started: when the process was started, in seconds since the epoch.

    Returns:
      Seconds of COLUMNS as a tuple; `processor` is the time of all cores together, which other
      work on the machine changes less.
    """
    import jax

    from contrastive_jax import sharding
    from contrastive_jax.data import batches, sources

    imported = time.time()
    train, _ = (sources.open_source(source, split, data_dir) for split in sources.SPLITS)
    opened = time.time()
    order = batches.train_batches(train, seed=0, batch_size=BATCH)
    feed = batches.iterate({'': order}, 0)
    jax.block_until_ready(sharding.to_devices(next(feed), sharding.data_mesh(1)))
    ended = time.time()
    used = resource.getrusage(resource.RUSAGE_SELF)
    processor = used.ru_utime + used.ru_stime
    return ended - started, processor, imported - started, opened - imported, ended - opened


def in_new_process(source, data_dir):
    """What `first_batch` returns in a process of its own, or the error as a text."""
    command = [sys.executable, '-m', 'benchmarks.first_batch', source, data_dir, str(time.time())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    return json.loads(done.stdout.splitlines()[-1])


def print_rows(data_dir):
    """Prints the seconds of every source that is there; the first opening fills the cache."""
    print(f'{"seconds to the first batch":36} ' + ' '.join(f'{name:>9}' for name in COLUMNS))
    for source in SOURCES:
        first = in_new_process(source, data_dir)
        if isinstance(first, str):
            print(f'{source} is left out: {first}')
            continue
        rounds = sorted(in_new_process(source, data_dir) for _ in range(ROUNDS))
        for word, row in (('best', rounds[0]), ('median', rounds[ROUNDS // 2])):
            print(f'{f"{source}, {word}":36} ' + ' '.join(f'{seconds:9.2f}' for seconds in row))


if __name__ == '__main__':
    begun = float(sys.argv[3]) if len(sys.argv) > 3 else time.time()
    print(json.dumps(first_batch(*sys.argv[1:3], begun)))
