"""The RandBit notebook: its step in TensorFlow, from a description, and ours, images a second.

python -m benchmarks.randbit_notebook
python -m benchmarks.randbit_notebook --tensorflow=another_environment/bin/python

Both train the notebook's network with its loss, online classifier and Adam on batches of 1,000
digits with two random crops each and 0 and 10 bits, crops and bits included: ours is
configs/chen2021/randbit_notebook.py on the embedded digits, theirs a tf.data pipeline and a
tf.function, also compiled by XLA. Each side is a process of its own; they take turns. TensorFlow
may be that of another Python, since it need not go with our packages; without any ours is timed
alone. The digits are decoded beforehand, for both.
"""

import argparse
import importlib.util
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.timing import Served, serve
from contrastive_jax.data import sources
from experiments import cli

BITS = (0, 10)
BATCH = 1000
STEPS = 10  # in one timed call
ROUNDS = 7


def train_ours(bits):
    """Serves calls that train STEPS steps of the config."""
    from benchmarks.train_side import trainer
    from configs.chen2021 import randbit_notebook
    from contrastive_jax import sharding
    from contrastive_jax.training.build import build

    config = randbit_notebook.get_config()
    config.batch_size = BATCH
    config.data.update(source='digits', num_bits=bits)
    serve(trainer(build(config, sharding.data_mesh(1)), STEPS))


def sides(bits, digits, tensorflow):
    """The commands of the sides by name."""
    ours = [sys.executable, '-m', 'benchmarks.randbit_notebook', f'--serve={bits}']
    theirs = [tensorflow, '-m', 'benchmarks.tensorflow_peer', digits]
    theirs += [str(number) for number in (bits, BATCH, STEPS)]
    if not tensorflow:
        return {'ours': ours}
    return {'ours': ours, 'tf.function': theirs, 'tf.function, XLA': [*theirs, 'compile']}


def compare(commands):
    """Seconds of every side in every round, after one call that does not count."""
    served = {name: Served(command) for name, command in commands.items()}
    for side in served.values():
        side()
    rounds = [{name: side() for name, side in served.items()} for _ in range(ROUNDS)]
    for side in served.values():
        side.end()
    return rounds


def python_with_tensorflow(asked):
    """The Python whose TensorFlow is used, or '' with a sentence."""
    if not asked and importlib.util.find_spec('tensorflow'):
        asked = sys.executable
    found = asked and subprocess.run([asked, '-c', 'import tensorflow'], capture_output=True)
    if found and not found.returncode:
        return asked
    print('TensorFlow is left out: give a Python that imports it, --tensorflow=.../bin/python.')
    return ''


def main(asked):
    """Times every side at every number of bits and prints images a second and ratios."""
    tensorflow = python_with_tensorflow(asked)
    source = sources.open_source('digits', 'train')
    print(f'{"bits":>4} {"side":18} {"images/s, best":>15} {"median":>8} {"ours is":>9}')
    with tempfile.TemporaryDirectory() as folder:
        digits = str(Path(folder, 'digits.npz'))
        np.savez(digits, images=source.images, labels=np.asarray(source.labels, np.int32))
        for bits in BITS:
            rounds = compare(sides(bits, digits, tensorflow))
            for name in rounds[0]:
                seconds = [times[name] for times in rounds]
                # Of each round, so that a machine that drifts slows both.
                ratio = statistics.median(times[name] / times['ours'] for times in rounds)
                best, middle = (
                    BATCH * STEPS / of for of in (min(seconds), statistics.median(seconds))
                )
                print(f'{bits:4} {name:18} {best:15,.0f} {middle:8,.0f} {ratio:8.2f}x', flush=True)


if __name__ == '__main__':
    cli.use_large_pages()  # as every command does; TensorFlow's side has them too
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--tensorflow', default='', help='a Python that has TensorFlow')
    parser.add_argument('--serve', type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is None:
        main(options.tensorflow)
    else:
        train_ours(options.serve)
