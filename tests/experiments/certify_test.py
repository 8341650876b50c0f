"""The certificate as a user asks for it: a real process with 8 simulated devices."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments import certify

ROOT = Path(__file__).parents[2]
CONFIG = 'configs/chen2021/randbit_digits.py'

# On several devices, NT-Xent of each device's own rows, averaged: the other devices' negatives are
# ignored.
PLANTED = """
import jax
from jax.sharding import PartitionSpec as P
from contrastive_jax.losses import nt_xent

def planted(z1, z2):
    mesh = jax.sharding.get_abstract_mesh()
    if mesh.empty or mesh.size == 1:
        return nt_xent(z1, z2, temperature=0.2)[0]
    def own(z1, z2):
        z = jax.numpy.concatenate([z1, z2])
        z = z / jax.numpy.linalg.norm(z, axis=1, keepdims=True)
        n = len(z)
        logits = z @ z.T / 0.2 - 1e9 * jax.numpy.eye(n)
        positives = (jax.numpy.arange(n) + n // 2) % n
        picked = jax.nn.log_softmax(logits)[jax.numpy.arange(n), positives]
        return jax.lax.pmean(-picked.mean(), 'data')
    return jax.shard_map(own, mesh=mesh, in_specs=P('data'), out_specs=P())(z1, z2)
"""


def run(path, *flags):
    environment = {name: value for name, value in os.environ.items() if name != 'XLA_FLAGS'}
    return subprocess.run(
        [sys.executable, '-m', 'experiments.certify', *flags], cwd=ROOT,
        env={**environment, 'PYTHONPATH': str(path)}, capture_output=True, text=True, check=False,
        timeout=400,
    )  # fmt: skip


@pytest.mark.slow
def test_a_config_is_certified_on_1_2_4_and_8_devices(tmp_path):
    done = run(tmp_path, f'--config={CONFIG}')
    assert done.returncode == 0, done.stdout + done.stderr
    assert '2 steps of batch 16' in done.stdout
    assert '   2 devices   4 devices   8 devices' in done.stdout
    assert 'all agree; the largest difference is' in done.stdout


@pytest.mark.slow
def test_a_planted_loss_exits_with_1_and_says_where(tmp_path):
    (tmp_path / 'my_losses.py').write_text(PLANTED)
    done = run(tmp_path, f'--config={CONFIG}:smoke', '--loss=my_losses:planted')
    assert done.returncode == 1, done.stdout + done.stderr
    assert 'loss differs on 2 devices by' in done.stdout
    assert 'they do NOT agree' in done.stdout
    assert 'Traceback' not in done.stderr


def test_bad_input_and_help(tmp_path):
    done = run(tmp_path, f'--config={CONFIG}', '--config.batch_size=12')
    assert done.returncode == 2
    assert 'config.batch_size is 12, which 8 devices do not divide' in done.stderr
    assert run(tmp_path, '--help').returncode == 0


def test_the_smoke_form_is_chosen_where_there_is_one(tmp_path):
    assert certify.smoke_form(f'--config={CONFIG}') == f'--config={CONFIG}:smoke'
    assert certify.smoke_form(f'--config={CONFIG}:') == f'--config={CONFIG}:'
    assert certify.smoke_form('--config.seed=1') == '--config.seed=1'
    plain = tmp_path / 'plain.py'
    plain.write_text('def get_config():\n    return None\n')
    assert certify.smoke_form(f'--config={plain}') == f'--config={plain}'
