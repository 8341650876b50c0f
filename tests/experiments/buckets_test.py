"""Real processes on a bucket, which is imitated: killed, damaged, shared, refused."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

from tests.experiments import interruptions_test
from tests.fake_bucket import FakeBuckets
from tests.training import processes

CONFIG = 'configs/chen2021/randbit_digits.py:smoke'
LONG = (
    '--config.num_steps=300', '--config.checkpoint_every=20', '--config.log_every=5',
    '--config.evaluate_every=100', '--config.data.num_bits=2',
)  # fmt: skip
WITHOUT_GCSFS = """
import runpy, sys
sys.modules['gcsfs'] = None
runpy.run_module('experiments.train', run_name='__main__')
"""


@pytest.fixture
def bucket(monkeypatch):
    """The imitation, which has one bucket, and which processes started here speak to."""
    with FakeBuckets() as buckets:
        for name, value in buckets.environment.items():
            monkeypatch.setenv(name, value)
        buckets.make('bucket')
        yield buckets


def start(workdir, *flags, program=('-m', 'experiments.train'), config=CONFIG):
    return subprocess.Popen(
        [sys.executable, *program, f'--config={config}', f'--workdir={workdir}', *flags],
        cwd=processes.ROOT, env=processes.environment(1), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def run(*arguments, **options):
    """(exit code, stdout, stderr) of a run to its end."""
    return processes.finish([start(*arguments, **options)])[0]


def rows_of(bucket, run):
    """All rows, without what depends on the clock."""
    rows = map(json.loads, bucket.read('bucket', f'{run}/metrics.jsonl').decode().splitlines())
    clock = ('images_per_second', 'seconds')
    return [{name: row[name] for name in row if name not in clock} for row in rows]


def steps_saved(bucket, run):
    return {
        int(name.split('/')[-2])
        for name in bucket.names('bucket', f'{run}/checkpoints/')
        if name.endswith('/digests.json')
    }


def wait_for_save(bucket, process, after=0, seconds=120):
    deadline = time.monotonic() + seconds
    while max(steps_saved(bucket, 'run'), default=0) <= after:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def downloaded(bucket, run, directory):
    """The files of a run in the bucket, in a directory; a copy of a run is a run."""
    for name in bucket.names('bucket', f'{run}/'):
        file = directory / name.removeprefix(f'{run}/')
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bucket.read('bucket', name))
    return directory


def flip(bucket, prefix):
    """Flips a bit of the largest object of a prefix."""
    name = max(bucket.names('bucket', prefix), key=lambda name: len(bucket.read('bucket', name)))
    content = bytearray(bucket.read('bucket', name))
    content[len(content) // 2] ^= 1
    bucket.write('bucket', name, content)


@pytest.mark.slow
def test_a_run_that_is_killed_and_damaged_ends_as_one_on_disk(bucket, tmp_path):
    assert run(tmp_path / 'whole', *LONG)[0] == 0
    for number, kind in enumerate([signal.SIGKILL, signal.SIGTERM, signal.SIGKILL]):
        before = max(steps_saved(bucket, 'run'), default=0)
        process = start('gs://bucket/run', *LONG)
        wait_for_save(bucket, process, after=before)
        process.send_signal(kind)
        out, err = process.communicate(timeout=60)
        assert process.returncode == (42 if kind == signal.SIGTERM else -signal.SIGKILL), err
        if number:
            assert f'continues from step {before}' in out
    *_, older, newest = sorted(steps_saved(bucket, 'run'))
    flip(bucket, f'run/checkpoints/{newest}/default/')
    code, out, err = run('gs://bucket/run', *LONG)
    assert code == 0, err
    assert f'the checkpoint at step {newest} has a file that changed' in out
    assert f'continues from step {older}' in out
    assert bucket.names('bucket', f'run/damaged/{newest}/')
    assert rows_of(bucket, 'run') == processes.rows_of(tmp_path / 'whole')
    copy = downloaded(bucket, 'run', tmp_path / 'copy')
    jax.tree.map(
        np.testing.assert_array_equal,
        interruptions_test.arrays_of(tmp_path / 'whole'),
        interruptions_test.arrays_of(copy),
    )
    # What else takes a workdir: another measurement, a warm start, a copy on disk.
    flags = ('--config.num_steps=2', '--config.data.num_bits=2')
    for init_from in ('gs://bucket/run@300', copy):
        config = tmp_path / 'warm.py'
        config.write_text(
            f'from configs.chen2021 import randbit_digits\ndef get_config():\n'
            f"    config = randbit_digits.get_config('smoke')\n"
            f"    config.init_from = '{init_from}'\n    return config\n"
        )
        code, out, err = run(f'gs://bucket/warm{len(str(init_from))}', *flags, config=config)
        assert code == 0, err
    warm = [name for name in bucket.objects['bucket'] if name.endswith('metrics.jsonl')]
    assert len(warm) == 3
    assert len({str(rows_of(bucket, name.removesuffix('/metrics.jsonl'))) for name in warm}) == 2


@pytest.mark.slow
def test_a_bucket_that_cannot_be_used_is_one_sentence_before_anything_compiles(bucket):
    cases = [
        ('gs://none/run', 'There is no bucket gs://none', ('-m', 'experiments.train'), None),
        ('gs://bucket/run', r'pip install -e ".[tpu]"', ('-c', WITHOUT_GCSFS), None),
        ('gs://bucket/run', 'Forbidden', ('-m', 'experiments.train'), 403),
    ]
    for workdir, sentence, program, status in cases:
        bucket.refuse = lambda method, *of, status=status: None if method == 'GET' else status
        code, out, err = run(workdir, program=program)
        assert code == 2, err
        assert sentence in err
        assert err.startswith('error: ')
        assert len(err.splitlines()) == 1
        assert 'compiled' not in out
    assert not bucket.objects['bucket']


@pytest.mark.slow
def test_a_bucket_that_fails_in_the_middle_of_a_run_ends_it_naming_what_is_kept(bucket):
    process = start('gs://bucket/run', *LONG)
    wait_for_save(bucket, process, after=20)
    bucket.refuse = lambda method, *of: 403 if method != 'GET' else None
    code, _, err = processes.finish([process])[0]
    assert code == 1, err
    assert 'Traceback' not in err, err
    kept = max(steps_saved(bucket, 'run'))
    assert f'Step {kept} is kept.' in err.splitlines()[-1]
    bucket.refuse = lambda *of: None
    code, out, err = run('gs://bucket/run', *LONG)
    assert code == 0, err
    assert f'continues from step {kept}' in out


@pytest.mark.slow
def test_several_processes_share_a_run_in_a_bucket(bucket, tmp_path):
    flags = ('--config.num_steps=40', *LONG[1:])
    whole = processes.finish(processes.start(tmp_path / 'whole', 2, *flags))
    assert [code for code, *_ in whole] == [0, 0], whole
    broken = processes.start('gs://bucket/run', 2, *flags)
    wait_for_save(bucket, broken[0])
    for process in broken:
        process.send_signal(signal.SIGKILL)
    processes.finish(broken)
    done = processes.finish(processes.start('gs://bucket/run', 2, *flags))
    assert [code for code, *_ in done] == [0, 0], done
    assert 'continues from step' in done[0][1]
    assert rows_of(bucket, 'run') == processes.rows_of(tmp_path / 'whole')


@pytest.mark.slow
def test_a_sweep_in_a_bucket_is_shared_by_points_gathered_and_measured(bucket):
    sweep = dict(program=('-m', 'experiments.sweep'))
    axis = ('--axis', 'data.num_bits=0,2')
    code, _, err = run('gs://bucket/sweep', *axis, '--point=1', **sweep)
    assert code == 0, err
    assert {name.split('/')[1] for name in bucket.names('bucket')} == {'data.num_bits=2'}
    rows = rows_of(bucket, 'sweep/data.num_bits=2')
    code, out, err = run('gs://bucket/sweep', *axis, **sweep)
    assert code == 0, err
    assert 'wrote gs://bucket/sweep/results.csv and gs://bucket/sweep/figure.png' in out
    assert rows_of(bucket, 'sweep/data.num_bits=2') == rows
    table = list(csv.DictReader(bucket.read('bucket', 'sweep/results.csv').decode().splitlines()))
    assert [row['data.num_bits'] for row in table] == ['0', '2']
    assert table[1]['workdir'] == 'gs://bucket/sweep/data.num_bits=2'
    assert bucket.read('bucket', 'sweep/figure.png').startswith(b'\x89PNG')
    measured = subprocess.run(
        [sys.executable, '-m', 'experiments.evaluate', f'--workdir={table[1]["workdir"]}'],
        cwd=processes.ROOT, env=os.environ, capture_output=True, text=True,
    )  # fmt: skip
    assert measured.returncode == 0, measured.stderr
    assert f'{float(table[1]["test_accuracy"]):.6g}' in measured.stdout
