"""The benchmark of data runs, one case of each kind."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# The command, with the fewest timed calls.
PROGRAM = """
from absl import app
from benchmarks import data, first_batch, randbit_cost

data.ROUNDS = first_batch.ROUNDS = randbit_cost.ROUNDS = randbit_cost.STEPS = 1
app.run(data.main)
"""


@pytest.mark.slow
def test_one_case_of_each_kind_is_timed():
    cases = '28x28x1 linear crops,MultiDigits,train step,first batch'
    done = subprocess.run(
        [sys.executable, '-c', PROGRAM, f'--cases={cases}', '--data_dir=not/there'],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    for row in ('linear crops, ours', 'MultiDigits 112x112x1, crops, ours', 'RandBit adds to'):
        assert row in done.stdout
    assert 'digits, median' in done.stdout
    assert 'tfds:mnist is left out' in done.stdout
