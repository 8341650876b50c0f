"""The RandBit notebook, written anew in TensorFlow and trained: what its classifier reads.

python -m benchmarks.notebook_accuracy --data_dir=data --tensorflow=another_environment/bin/python

The notebook prints one run of each cell; this repeats cells with several seeds on all of MNIST,
with bits as the notebook has them (a hash of the image encoded as JPEG), beside what it prints.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.randbit_notebook import BATCH, python_with_tensorflow
from configs.chen2021.randbit_notebook import BITS, REFERENCE
from contrastive_jax.data import sources


def write_digits(path, data_dir):
    """MNIST's two splits as arrays, in the order of the files."""
    arrays = {}
    for split, prefix in (('train', ''), ('test', 'test_')):
        source = sources.open_source('tfds:mnist', split, data_dir)
        rows = source.take(np.arange(len(source)))
        arrays |= {f'{prefix}images': rows['image'], f'{prefix}labels': rows['label']}
    np.savez(path, **arrays)


def main(options):
    """Prints a line for each cell."""
    python = python_with_tensorflow(options.tensorflow)
    if not python:
        sys.exit(2)
    with tempfile.TemporaryDirectory() as folder:
        digits = str(Path(folder, 'digits.npz'))
        write_digits(digits, options.data_dir)
        print(f'{"temperature":>11} {"bits":>4} {"printed":>8}  trained again, by seed')
        for temperature in options.temperatures:
            found = []
            for seed in options.seeds:
                command = [python, '-m', 'benchmarks.tensorflow_peer', 'accuracy', digits]
                command += map(str, (options.bits, BATCH, temperature, seed))
                out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
                found.append(float(out.split()[-1]))
            printed = REFERENCE[temperature][BITS.index(options.bits)]
            listed = ' '.join(f'{accuracy:.4f}' for accuracy in found)
            mean = f'mean {np.mean(found):.4f}'
            print(
                f'{temperature:11g} {options.bits:4} {printed:8.4f}  {listed}, {mean}', flush=True
            )


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--tensorflow', default='', help='a Python that has TensorFlow')
    parser.add_argument('--data_dir', default='data', help='where TFDS keeps MNIST')
    parser.add_argument('--bits', type=int, default=5, choices=BITS)
    parser.add_argument(
        '--temperatures', type=float, nargs='+', default=[0.05, 0.1], choices=list(REFERENCE)
    )
    parser.add_argument('--seeds', type=int, nargs='+', default=[0, 1, 2])
    main(parser.parse_args())
