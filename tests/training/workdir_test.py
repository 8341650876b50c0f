"""A workdir belongs to one config."""

import json
import os
import platform
import sys
import types

import pytest

from contrastive_jax import losses
from contrastive_jax.errors import BadInput
from contrastive_jax.training import workdir


def test_config_commit_versions_and_machine_are_written(tmp_path, config):
    workdir.claim(tmp_path / 'run', config, {'seed': 3})
    record = json.loads((tmp_path / 'run' / 'config.json').read_text())
    assert record['config'] == workdir.plain(config)
    assert record['overrides'] == {'seed': 3}
    assert record['versions']['jax']
    assert record['machine'].endswith(platform.machine())
    assert 'commit' in record


def test_the_same_config_may_come_again(tmp_path, config):
    workdir.claim(tmp_path / 'run', config, {})
    before = (tmp_path / 'run' / 'config.json').read_text()
    workdir.claim(tmp_path / 'run', config, {})
    assert (tmp_path / 'run' / 'config.json').read_text() == before


def test_another_config_is_refused_with_the_differing_fields(tmp_path, config):
    workdir.claim(tmp_path / 'run', config, {})
    before = (tmp_path / 'run' / 'config.json').read_text()
    config.loss.temperature = 0.5
    config.num_steps = 7
    with pytest.raises(BadInput) as raised:
        workdir.claim(tmp_path / 'run', config, {})
    assert 'config.loss.temperature: 0.2 there, 0.5 here' in str(raised.value)
    assert 'config.num_steps: 6 there, 7 here' in str(raised.value)
    assert 'seed' not in str(raised.value)
    assert (tmp_path / 'run' / 'config.json').read_text() == before


def test_a_directory_of_something_else_is_refused_and_left_alone(tmp_path, config):
    (tmp_path / 'thesis.tex').write_text('chapter')
    with pytest.raises(BadInput, match='not the directory of a run'):
        workdir.claim(tmp_path, config, {})
    assert os.listdir(tmp_path) == ['thesis.tex']


def test_an_unwritable_place_is_named(tmp_path, config):
    (tmp_path / 'file').write_text('')
    with pytest.raises(BadInput, match='cannot be used'):
        workdir.claim(tmp_path / 'file' / 'run', config, {})


def test_another_kind_of_place_is_refused_and_no_directory_of_its_name_is_made(
    tmp_path, config, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="'s3://bucket/run' is neither a directory nor in a bucket"):
        workdir.claim('s3://bucket/run', config, {})
    assert not list(tmp_path.iterdir())


def test_a_damaged_config_file_is_named(tmp_path, config):
    (tmp_path / 'config.json').write_text('{"config": {')
    with pytest.raises(BadInput, match='config.json cannot be read'):
        workdir.claim(tmp_path, config, {})


def test_a_name_that_is_too_long_is_one_sentence(tmp_path, config):
    with pytest.raises(BadInput, match='cannot be used'):
        workdir.is_run(tmp_path / ('x' * 300))


def test_a_claim_that_was_cut_short_may_be_made_again(tmp_path, config):
    (tmp_path / 'config.part').write_text('{"con')
    workdir.claim(tmp_path, config, {})
    assert workdir.is_run(tmp_path)


def loss_of_a_user(left, right, tau=0.1):
    return ((left - right) ** 2).mean() / tau


@pytest.fixture
def importable(monkeypatch):
    """A module of the user's that holds the loss, and another that only passes it on."""
    home = types.ModuleType('losses_of_a_user')
    home.loss_of_a_user = loss_of_a_user
    shelf = types.ModuleType('shelf_of_a_user')
    shelf.mine = loss_of_a_user
    monkeypatch.setattr(loss_of_a_user, '__module__', home.__name__)
    for module in (home, shelf):
        monkeypatch.setitem(sys.modules, module.__name__, module)


def test_a_loss_given_as_a_function_is_written_as_its_import_path(tmp_path, config, importable):
    config.loss = {'name': loss_of_a_user, 'tau': 0.5}
    workdir.claim(tmp_path, config, {'loss.name': loss_of_a_user})
    record = json.loads((tmp_path / 'config.json').read_text())
    assert record['config']['loss'] == {'name': 'losses_of_a_user:loss_of_a_user', 'tau': 0.5}
    assert record['overrides'] == {'loss.name': 'losses_of_a_user:loss_of_a_user'}


@pytest.mark.parametrize(
    'name', [loss_of_a_user, 'losses_of_a_user:loss_of_a_user', 'shelf_of_a_user:mine']
)
def test_one_function_is_one_config_whatever_names_it(tmp_path, config, importable, name):
    for number, first in enumerate((loss_of_a_user, 'shelf_of_a_user:mine')):
        config.loss = {'name': first, 'tau': 0.5}
        workdir.claim(tmp_path / str(number), config, {})
        config.loss = {'name': name, 'tau': 0.5}
        workdir.claim(tmp_path / str(number), config, {})
        config.loss = {'name': name, 'tau': 0.25}
        with pytest.raises(BadInput, match=r'\(config.loss.tau: 0.5 there, 0.25 here\)'):
            workdir.claim(tmp_path / str(number), config, {})


def test_another_function_is_another_config(tmp_path, config, importable):
    config.loss = {'name': loss_of_a_user, 'temperature': 0.2}
    workdir.claim(tmp_path, config, {})
    config.loss = {'name': losses.nt_xent, 'temperature': 0.2}
    with pytest.raises(BadInput, match=":loss_of_a_user' there, 'nt_xent' here"):
        workdir.claim(tmp_path, config, {})


def test_a_public_loss_given_as_a_function_is_its_name(tmp_path, config):
    workdir.claim(tmp_path, config, {})
    config.loss = {'name': losses.nt_xent, 'temperature': 0.2}
    workdir.claim(tmp_path, config, {})
    assert workdir.read_config(tmp_path)['loss']['name'] == 'nt_xent'


def test_a_function_that_cannot_be_found_again_is_refused_and_nothing_written(tmp_path, config):
    config.loss = {'name': lambda z1, z2: (z1 * z2).mean()}
    with pytest.raises(BadInput, match='config.loss.name is .*another process cannot import'):
        workdir.claim(tmp_path / 'run', config, {})
    assert not (tmp_path / 'run').exists()


def test_allowed_fields_may_change_and_the_old_values_stay_on_record(tmp_path, config):
    workdir.claim(tmp_path / 'run', config, {})
    config.num_steps, config.loss.temperature = 7, 0.5
    with pytest.raises(BadInput, match=r'temperature: 0\.2 there.*--allow_change=loss\.temperat'):
        workdir.claim(tmp_path / 'run', config, {}, allowed=['num_steps'])
    workdir.claim(tmp_path / 'run', config, {}, allowed=['num_steps', 'loss.temperature'])
    config.num_steps = 8
    workdir.claim(tmp_path / 'run', config, {}, allowed=['num_steps'])
    record = json.loads((tmp_path / 'run' / 'config.json').read_text())
    assert record['config'] == workdir.plain(config)
    assert record['changes'] == [{'loss.temperature': 0.2, 'num_steps': 6}, {'num_steps': 7}]
    with pytest.raises(BadInput, match="Did you mean 'num_steps'"):
        workdir.claim(tmp_path / 'run', config, {}, allowed=['num_step'])
