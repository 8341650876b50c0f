"""A run that goes on with another number of devices or of processes."""

import shutil

import pytest

from tests.training import processes

FLAGS = ('--config.num_steps=6', '--config.checkpoint_every=2', '--config.evaluate_every=3')


def train(workdir, count, devices):
    group = processes.start(workdir, count, *FLAGS, devices=devices)
    done = processes.finish(group)
    assert [code for code, _, _ in done] == [0] * count, done
    return done[0][1]


def cut(whole, broken):
    """A run as if it had been killed after step 4 was saved."""
    shutil.copytree(whole, broken)
    shutil.rmtree(broken / 'checkpoints' / '6')
    lines = (broken / 'metrics.jsonl').read_text().splitlines(keepends=True)
    (broken / 'metrics.jsonl').write_text(''.join(lines[:6]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ('before', 'after'),
    [((1, 8), (1, 1)), ((1, 1), (1, 8)), ((1, 4), (1, 2)), ((2, 2), (1, 4)), ((1, 4), (2, 2))],
    ids=lambda group: f'{group[0]} processes of {group[1]} devices',
)
def test_a_run_goes_on_elsewhere(tmp_path, before, after):
    whole, broken = tmp_path / 'whole', tmp_path / 'broken'
    train(whole, *before)
    cut(whole, broken)
    assert 'continues from step 4' in train(broken, *after)
    rows, expected = processes.rows_of(broken), processes.rows_of(whole)
    assert [row['step'] for row in rows] == [row['step'] for row in expected]
    for row, other in zip(rows, expected, strict=True):
        for name in row:
            apart = abs(row[name] - other[name]) / max(1, abs(other[name]))
            assert apart <= 5e-6, (name, row, other)
