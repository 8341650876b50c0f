"""A run in a bucket, which is imitated, does what a run in a directory does."""

import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax import storage
from contrastive_jax.errors import BadInput, RunFailed
from contrastive_jax.training import digests, loop, metrics_log, workdir
from contrastive_jax.training import state as states
from contrastive_jax.training.checkpoints import Checkpoints
from tests.fake_bucket import FakeBuckets

NUMBERS = itertools.count()


@pytest.fixture(scope='module')
def buckets():
    with FakeBuckets() as buckets:
        yield buckets


@pytest.fixture
def bucket(buckets, monkeypatch):
    """The name of an empty bucket."""
    for name, value in buckets.environment.items():
        monkeypatch.setenv(name, value)
    name = f'bucket{next(NUMBERS)}'
    buckets.make(name)
    return name


def numbered(step):
    return states.TrainState(jnp.int32(step), {'w': jnp.full(100, float(step))}, {}, {})


def saved_at(place, *steps):
    checkpoints = Checkpoints(place)
    for step in steps:
        checkpoints.save(step, numbered(step))
    checkpoints.wait()
    checkpoints.close()


def flip(buckets, bucket, prefix):
    """Flips a bit of the largest object of a prefix."""
    name = max(buckets.names(bucket, prefix), key=lambda name: len(buckets.read(bucket, name)))
    content = bytearray(buckets.read(bucket, name))
    content[len(content) // 2] ^= 1
    buckets.write(bucket, name, content)


def test_a_config_is_claimed_and_another_one_refused(buckets, bucket, config):
    place = f'gs://{bucket}/runs/one'
    assert not workdir.is_run(place)
    workdir.claim(place, config, {'seed': 3})
    assert workdir.is_run(place)
    assert buckets.names(bucket) == ['runs/one/config.json']
    assert json.loads(buckets.read(bucket, 'runs/one/config.json'))['overrides'] == {'seed': 3}
    workdir.claim(place, config, {})
    config.seed = 1
    with pytest.raises(BadInput, match=r'another config \(config.seed: 0 there, 1 here\)'):
        workdir.claim(place, config, {})
    buckets.write(bucket, 'thesis/chapter.tex', b'text')
    with pytest.raises(BadInput, match='not the directory of a run'):
        workdir.claim(f'gs://{bucket}/thesis', config, {})
    assert workdir.final_row(place) is None


@pytest.mark.parametrize('harm', ['flipped', 'never sealed', 'uncommitted'])
def test_a_damaged_newest_checkpoint_is_passed_over_and_set_aside(buckets, bucket, harm):
    place = f'gs://{bucket}/run'
    saved_at(place, 1, 2)
    objects = buckets.objects[bucket]
    if harm == 'flipped':
        flip(buckets, bucket, 'run/checkpoints/2/')
    elif harm == 'never sealed':
        del objects[f'run/checkpoints/2/{digests.FILE}']
    else:  # killed while it was saved
        del objects['run/checkpoints/2/commit_success.txt']
    checkpoints, said = Checkpoints(place), []
    assert checkpoints.newest_sound(said.append, set_aside=True) == 1
    aside = harm != 'uncommitted'  # which is no checkpoint, and gives way to the next one
    assert len(said) == aside
    assert bool(buckets.names(bucket, 'run/damaged/2/')) == aside
    assert checkpoints.steps == [1]
    checkpoints.save(2, numbered(2))
    checkpoints.wait()
    restored = checkpoints.restore(numbered(0))
    jax.tree.map(np.testing.assert_array_equal, restored, numbered(2))
    checkpoints.close()


# A thread of Orbax ends in the middle of its work.
@pytest.mark.filterwarnings('ignore::pytest.PytestUnraisableExceptionWarning')
def test_a_save_that_the_bucket_refuses_is_told_and_names_what_is_kept(
    buckets, bucket, monkeypatch
):
    place = f'gs://{bucket}/run'
    saved_at(place, 1)
    checkpoints = Checkpoints(place)
    monkeypatch.setattr(buckets, 'refuse', lambda method, *of: 403 if method == 'POST' else None)
    checkpoints.save(2, numbered(2))
    with pytest.raises(RunFailed, match=r'step 2 could not be saved: .*Step 1 is kept\.'):
        checkpoints.wait()
    monkeypatch.setattr(buckets, 'refuse', lambda *of: None)
    checkpoints.close()
    again = Checkpoints(place)
    assert again.newest_sound(lambda sentence: None, set_aside=True) == 1
    again.close()


def test_rows_are_in_the_bucket_when_they_must_be_and_those_of_later_steps_dropped(buckets, bucket):
    place = f'gs://{bucket}/run'

    def steps():
        return [row['step'] for row in metrics_log.read(place)]

    assert steps() == []
    log = metrics_log.MetricsLog(place, 0)
    log.write(1, {'loss': 1.0})
    log.write(2, {'loss': 2.0})
    assert steps() == []  # not each row is an upload
    log.sync()
    assert steps() == [1, 2]
    log.write(3, {'loss': 3.0})
    log._next_upload = 0.0  # half a minute later
    log.write(4, {'loss': 4.0})
    assert steps() == [1, 2, 3, 4]
    log.write(5, {'loss': 5.0})
    log.close()
    assert steps() == [1, 2, 3, 4, 5]
    events = buckets.names(bucket, 'run/tensorboard/events.')
    assert len(events) == 1
    assert b'loss' in buckets.read(bucket, events[0])
    log = metrics_log.MetricsLog(place, 3)
    assert steps() == [1, 2, 3]
    log.write(4, {'loss': 40.0})
    log.close()
    assert metrics_log.read(place)[-1] == {'step': 4, 'loss': 40.0}


def test_an_upload_that_fails_is_told_by_the_next_sync_alone(buckets, bucket, monkeypatch):
    log = metrics_log.MetricsLog(f'gs://{bucket}/run', 0)
    monkeypatch.setattr(buckets, 'refuse', lambda *of: 403)
    log._next_upload = 0.0
    log.write(1, {'loss': 1.0})
    with pytest.raises(OSError, match='Forbidden'):
        log.sync()
    log.close()
    monkeypatch.setattr(buckets, 'refuse', lambda *of: None)
    assert metrics_log.read(f'gs://{bucket}/run') == []


@pytest.mark.slow
def test_no_checkpoint_is_ahead_of_its_rows(buckets, bucket, config, monkeypatch):
    """Looks at each write: what a bucket holds at that moment is what a killed run leaves."""
    ahead, write = [], buckets.write

    def watched(of, name, content):
        answer = write(of, name, content)
        if name.endswith('/commit_success.txt') and name.count('/') == 3:
            rows = buckets.read(bucket, 'run/metrics.jsonl').decode().splitlines()
            steps = {json.loads(row)['step'] for row in rows}
            ahead.append({*range(1, int(name.split('/')[2]) + 1)} - steps)
        return answer

    monkeypatch.setattr(buckets, 'write', watched)
    config.log_every, config.evaluation = 1, dict(name='knn', k=1)
    row = loop.train(config, f'gs://{bucket}/run')
    assert ahead == [set(), set(), set()]
    assert row == workdir.final_row(f'gs://{bucket}/run')
    assert loop.train(config, f'gs://{bucket}/run') == row
    assert storage.names_in(storage.path(f'gs://{bucket}/run')) == {
        'config.json', 'metrics.jsonl', 'checkpoints', 'tensorboard',
    }  # fmt: skip
