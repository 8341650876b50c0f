"""Checkpoints: what is saved is what is restored, while training goes on."""

import asyncio
import gc
import itertools
import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax import sharding
from contrastive_jax.errors import BadInput, RunFailed
from contrastive_jax.training import digests
from contrastive_jax.training import state as states
from contrastive_jax.training.build import build
from contrastive_jax.training.checkpoints import Checkpoints, _of_no_checkpoint


def equal(a, b):
    jax.tree.map(np.testing.assert_array_equal, a, b)


def test_restored_state_is_the_saved_one_on_the_mesh(tmp_path, config):
    experiment = build(config)
    saved = experiment.init_state(experiment.seed_key)
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(3, saved)
    checkpoints.close()
    again = Checkpoints(tmp_path)
    assert again.latest_step == 3
    restored = again.restore(states.state_shapes(experiment))
    again.close()
    equal(restored, saved)
    leaf = jax.tree.leaves(restored.params)[0]
    assert leaf.sharding == sharding.replicated(experiment.mesh)


def test_a_save_in_the_background_is_not_touched_by_later_donating_steps(tmp_path):
    count = 1_000_000
    bump = jax.jit(lambda tree: jax.tree.map(lambda x: x + 1.0, tree), donate_argnums=0)
    tree = states.TrainState(jnp.int32(0), {'w': jnp.zeros(count)}, {}, {})
    tree = jax.tree.map(lambda x: x.astype(jnp.float32), tree)
    checkpoints = Checkpoints(tmp_path, keep=100)
    for step in range(1, 9):
        tree = bump(tree)
        checkpoints.save(step, tree)
        tree = bump(bump(tree))
    checkpoints.wait()
    like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), tree)
    for step in range(1, 9):
        restored = checkpoints.restore(like, step)
        np.testing.assert_array_equal(restored.params['w'], np.full(count, 3.0 * step - 2.0))
    checkpoints.close()


def test_only_the_newest_are_kept(tmp_path, config):
    experiment = build(config)
    saved = experiment.init_state(experiment.seed_key)
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step in (1, 2, 3):
        checkpoints.save(step, saved)
    checkpoints.wait()
    with pytest.raises(BadInput, match=r'no checkpoint at step 1; the steps kept are: \[2, 3\]'):
        checkpoints.restore(states.state_shapes(experiment), 1)
    checkpoints.close()


def test_a_checkpoint_of_another_model_names_the_differing_arrays(tmp_path, config):
    experiment = build(config)
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, experiment.init_state(experiment.seed_key))
    checkpoints.wait()
    config.model.head_widths = (8, 5)
    other = build(config)
    with pytest.raises(BadInput, match=r'params/.*kernel: saved \(8, 4\), wanted \(8, 5\)'):
        checkpoints.restore(states.state_shapes(other))
    checkpoints.close()


def saved_at(path, *steps, scores=(), keep=2):
    """Checkpoints of w = step at each of the steps."""
    checkpoints = Checkpoints(path, keep=keep)
    for step, score in itertools.zip_longest(steps, scores):
        checkpoints.save(step, numbered(step), score)
    checkpoints.wait()
    return checkpoints


def numbered(step):
    return states.TrainState(jnp.int32(step), {'w': jnp.full(100, float(step))}, {}, {})


def files_of(path, step):
    home = path / 'checkpoints' / str(step)
    files = [file for file in sorted(home.rglob('*')) if file.is_file()]
    return [file for file in files if file.name != digests.FILE]


def test_the_best_is_kept_beside_the_newest(tmp_path):
    checkpoints = saved_at(tmp_path, 1, 2, 3, 4, 5, scores=(0.3, 0.9, 0.5, None, 0.8))
    assert checkpoints.steps == [2, 4, 5]
    checkpoints.close()


@pytest.mark.parametrize('harm', ['flipped', 'cut', 'removed', 'added', 'never sealed', 'digests'])
def test_a_damaged_newest_checkpoint_is_passed_over_and_set_aside(tmp_path, harm):
    saved_at(tmp_path, 1, 2).close()
    home = tmp_path / 'checkpoints' / '2'
    data = max(files_of(tmp_path, 2), key=lambda file: file.stat().st_size)
    content = data.read_bytes()
    if harm == 'flipped':
        middle = len(content) // 2
        data.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    elif harm == 'cut':
        data.write_bytes(content[:-1])
    elif harm == 'removed':
        data.unlink()
    elif harm == 'added':
        (home / 'default' / 'more').write_bytes(b'')
    elif harm == 'never sealed':
        (home / digests.FILE).unlink()
    else:
        (home / digests.FILE).write_text('{"half')
    checkpoints, said = Checkpoints(tmp_path), []
    with pytest.raises(BadInput, match='checkpoint at step 2 .*choose another'):
        checkpoints.restore(numbered(0), 2)
    assert checkpoints.newest_sound(said.append) == 1
    assert len(said) == 1
    assert 'warning: the checkpoint at step 2 ' in said[0]
    assert checkpoints.steps == [1, 2]  # a look changes nothing
    assert checkpoints.newest_sound(said.append, set_aside=True) == 1
    assert (tmp_path / 'damaged' / '2').is_dir()
    equal(checkpoints.restore(numbered(0), 1), numbered(1))
    checkpoints.save(2, numbered(2))  # as if nothing had been
    checkpoints.wait()
    equal(checkpoints.restore(numbered(0)), numbered(2))
    checkpoints.close()


def test_every_byte_of_a_checkpoint_is_watched(tmp_path):
    saved_at(tmp_path, 1).close()
    home = tmp_path / 'checkpoints' / '1'
    for file in files_of(tmp_path, 1):
        content = file.read_bytes()
        for place in {0, len(content) // 3, len(content) - 1} if content else ():
            file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            assert digests.damage(home), (file, place)
        file.write_bytes(content)
    assert digests.damage(home) is None


def test_when_none_is_sound_nothing_starts_anew_unasked(tmp_path):
    saved_at(tmp_path, 1, 2).close()
    for step in (1, 2):
        (tmp_path / 'checkpoints' / str(step) / digests.FILE).unlink()
    checkpoints = Checkpoints(tmp_path)
    with pytest.raises(BadInput, match='No checkpoint in .* is sound: .*step 2.*step 1'):
        checkpoints.newest_sound(lambda sentence: None, set_aside=True)
    assert checkpoints.steps == [1, 2]
    checkpoints.close()


def test_a_save_that_fails_in_the_background_is_told_at_the_next_look(tmp_path, monkeypatch):
    checkpoints = saved_at(tmp_path, 1)
    manager = checkpoints._manager

    def fail():
        raise OSError(28, 'No space left on device')

    checkpoints.save(2, numbered(2))
    manager.wait_until_finished()
    monkeypatch.setattr(manager, 'check_for_errors', fail)
    with pytest.raises(RunFailed, match=r'step 2 could not be saved: .*No space.*Step 1 is kept'):
        checkpoints.poll()
    checkpoints.poll()  # told once
    checkpoints.close()


@pytest.mark.parametrize(
    ('place', 'reports'),
    [
        ('saved/checkpoints/1/default', 0),
        ('saved/checkpoints_of_another/1', 1),
        ('other/checkpoints/1/default', 1),  # only read
        ('elsewhere', 1),
    ],
)
def test_asyncio_tells_of_every_lost_write_but_those_of_our_checkpoints(
    tmp_path, caplog, place, reports
):
    saved_at(tmp_path / 'saved', 1).close()
    Checkpoints(tmp_path / 'other').close()
    loop = asyncio.new_event_loop()
    future = loop.create_future()
    future.set_exception(ValueError(f'Error writing .zarray at {tmp_path / place}'))
    del future
    gc.collect()
    loop.close()
    assert [record.name for record in caplog.records] == ['asyncio'] * reports


def test_asyncio_is_silent_of_writes_into_our_bucket(monkeypatch):
    monkeypatch.setattr(
        'contrastive_jax.training.checkpoints._SAVED_INTO', {'gs://bucket/run/checkpoints'}
    )
    message = 'Task exception was never retrieved: Error writing .zarray at gs://bucket/{}/60'
    record = logging.makeLogRecord({'msg': message.format('run/checkpoints')})
    assert not _of_no_checkpoint(record)
    assert _of_no_checkpoint(logging.makeLogRecord({'msg': message.format('another')}))


def test_asyncio_tells_what_else_it_has_to_say_of_a_checkpoint(tmp_path, caplog):
    saved_at(tmp_path, 1).close()
    logging.getLogger('asyncio').warning('Executing %s took 2 s', tmp_path / 'checkpoints' / '1')
    assert [record.levelname for record in caplog.records] == ['WARNING']


@pytest.mark.parametrize(('before', 'after'), [(4, 2), (4, 1), (1, 4)])
def test_a_state_is_restored_on_another_number_of_devices(tmp_path, config, before, after):
    experiment = build(config, sharding.data_mesh(before))
    saved = jax.device_put(
        experiment.init_state(experiment.seed_key), sharding.replicated(experiment.mesh)
    )
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(3, saved)
    checkpoints.wait()
    other = build(config, sharding.data_mesh(after))
    restored = checkpoints.restore(states.state_shapes(other))
    checkpoints.close()
    equal(restored, saved)
    for leaf in jax.tree.leaves(restored):
        assert leaf.sharding == sharding.replicated(other.mesh)
        assert len(leaf.addressable_shards) == after
