"""check_loss: exit codes, the table, and losses of a user by import path."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from contrastive_jax import identities, losses

ROOT = Path(__file__).parents[2]
USER = """
import jax.numpy as jnp

def distance(left, right):
    return jnp.mean(jnp.sum((left - right) ** 2, axis=1))

def broken(left, right):
    return jnp.log(distance(left, right) * 0)
"""


@pytest.fixture
def user_module(tmp_path):
    (tmp_path / 'my_losses.py').write_text(USER)
    return tmp_path


def run(loss, directory):
    pytest.importorskip('experiments.cli')
    command = f'import sys; sys.path.insert(0, {str(ROOT)!r}); '
    command += f'sys.path.insert(0, {str(directory)!r}); '
    command += "import runpy; runpy.run_module('experiments.check_loss', run_name='__main__')"
    # As on a machine with one device: the command makes the four that it tests on.
    environment = {name: value for name, value in os.environ.items() if name != 'XLA_FLAGS'}
    return subprocess.run(
        [sys.executable, '-c', command, f'--loss={loss}'],
        capture_output=True,
        text=True,
        env=environment,
    )


def test_good_loss_of_a_user_exits_with_0_and_a_table(user_module):
    done = run('my_losses:distance', user_module)
    assert done.returncode == 0, done.stderr
    assert re.search('any number of devices +holds', done.stdout)
    assert re.search("extreme temperature +not tested +no parameter is named 'temp", done.stdout)
    assert done.stdout.endswith('of 7 that must hold: holds 6, not tested 1\n')


def test_broken_loss_exits_with_1(user_module):
    done = run('my_losses:broken', user_module)
    assert done.returncode == 1, done.stderr
    assert 'fails' in done.stdout


@pytest.mark.parametrize(
    ('loss', 'message'),
    [('my_losses:distances', "Did you mean 'distance'"), ('nt_xents', 'nt_xent')],
)
def test_bad_input_exits_with_2_and_one_sentence(user_module, loss, message):
    done = run(loss, user_module)
    assert done.returncode == 2
    assert message.lower() in done.stderr.lower()
    assert 'Traceback' not in done.stderr


def test_loss_and_options_are_read_from_text():
    function, options = identities.loss_of('nt_xent,temperature=0.1,similarity=inner_product')
    assert function is losses.nt_xent
    assert options == {'temperature': 0.1, 'similarity': 'inner_product'}
    function, options = identities.loss_of('contrastive_jax.losses:nt_xent, temperature=[0.1, 2]')
    assert function is losses.nt_xent
    assert options == {'temperature': [0.1, 2]}
    assert identities.loss_of('supcon') == (losses.supcon, {})


@pytest.mark.parametrize(
    'text', ['nt_xent,0.1', 'nt_xent,temperature=', 'nt_xent,a.b=1', 'no_such_module:f', 'os:nope']
)
def test_text_of_another_form_is_a_value_error(text):
    with pytest.raises(ValueError, match='must look like|cannot be imported|has no function'):
        identities.loss_of(text)
