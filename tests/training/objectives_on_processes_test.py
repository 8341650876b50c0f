"""What a run keeps beside the encoder, on two processes: a bank, its clusters, a slow encoder."""

import numpy as np
import pytest

from tests.training import processes

# A bank; clusters that start from it; a momentum encoder. Each on the digits.
PROGRAM = """
import sys
from configs.chen2021.randbit_digits import get_config
from contrastive_jax.training import hosts
from contrastive_jax.training.loop import train
from tests.training.objectives_test import small

values = dict(flag.lstrip('-').split('=', 1) for flag in sys.argv[1:])
root = values['workdir']
hosts.join(values.get('coordinator', ''), int(values.get('num_processes', 0)),
           int(values.get('process_index', -1)))
for kind in ('bank', 'clusters', 'bootstrap'):
    config = small(get_config('smoke'), kind)
    # At 0.05 batch norm and kinks make 2e-5 of a rounding of 3e-7 in 3 steps.
    config.optimizer.learning_rate = 0.002 if kind == 'bootstrap' else 0.05
    if kind == 'clusters':
        config.init_from = f'{root}/bank@2'
    train(config, f'{root}/{kind}')
"""


@pytest.mark.slow
def test_two_processes_train_these_as_one_with_as_many_devices(tmp_path):
    program = tmp_path / 'program.py'
    program.write_text(PROGRAM)
    for name, count, devices in (('alone', 1, 4), ('group', 2, 2)):
        done = processes.finish(
            processes.start(tmp_path / name, count, program=[str(program)], devices=devices)
        )
        assert [code for code, _, _ in done] == [0] * count, done
    for kind in ('bank', 'clusters', 'bootstrap'):
        rows, expected = (processes.rows_of(tmp_path / name / kind) for name in ('group', 'alone'))
        assert [row['step'] for row in rows] == [1, 2, 3, 4, 4]
        for row, other in zip(rows, expected, strict=True):
            assert row.keys() == other.keys()
            for name, value in row.items():
                error = abs(value - other[name]) / max(1, abs(other[name]))
                assert error <= 2e-6, (kind, name, row, other)
    warm, cold = (processes.rows_of(tmp_path / 'group' / kind) for kind in ('clusters', 'bank'))
    assert np.isfinite([row['loss'] for row in warm[:-1]]).all()
    assert warm[0]['loss'] != cold[0]['loss']
