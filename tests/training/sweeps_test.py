"""Sweeps: points, results and what happens when some of it exists already."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from contrastive_jax.errors import BadInput
from contrastive_jax.training import sweeps

ROOT = Path(__file__).parents[2]
OWN = [{'seed': 0, 'data.num_bits': 0}, {'seed': 0, 'data.num_bits': 8}]


def test_the_config_own_points_are_the_default():
    assert sweeps.points(OWN, {}, None) == OWN


def test_axes_replace_them_with_a_product():
    points = sweeps.points(OWN, {'a': [1, 2], 'b': [3, 4]}, None)
    assert points == [{'a': a, 'b': b} for a in (1, 2) for b in (3, 4)]


def test_seeds_multiply_distinct_points_and_vary_slowest():
    points = sweeps.points([*OWN, {'seed': 1, 'data.num_bits': 0}], {}, [5, 6])
    assert [(point['seed'], point['data.num_bits']) for point in points] == [
        (5, 0), (5, 8), (6, 0), (6, 8),
    ]  # fmt: skip
    assert sweeps.points([], {}, [1, 2]) == [{'seed': 1}, {'seed': 2}]


def test_nothing_to_sweep_is_said():
    with pytest.raises(BadInput, match='--axis'):
        sweeps.points([], {}, None)


def test_a_point_keeps_the_types_of_the_config(config):
    changed = sweeps.config_at(config, {'loss.temperature': 1, 'data.num_bits': 4})
    assert changed.loss.temperature == 1.0
    assert isinstance(changed.loss.temperature, float)
    assert config.data.num_bits == 3
    with pytest.raises(BadInput, match="config.data.num_bits cannot be 'a'"):
        sweeps.config_at(config, {'data.num_bits': 'a'})
    with pytest.raises(BadInput, match="Did you mean 'num_bits'"):
        sweeps.config_at(config, {'data.num_bit': 1})


def test_a_point_replaces_whole_sections_by_text(config):
    point = {'loss': 'queue_contrastive,temperature=0.1', 'memory': 'size=8', 'loss.temperature': 2}
    changed = sweeps.config_at(config, point)
    assert changed.loss.to_dict() == {'name': 'queue_contrastive', 'temperature': 2}
    assert changed.memory.to_dict() == {'size': 8}
    assert 'memory' not in sweeps.config_at(changed, {'memory': ''})
    assert sweeps.config_at(config, {'data': 'plain'}).data.source == config.data.source
    assert 'memory' not in config
    assert config.loss.name == 'nt_xent'
    with pytest.raises(BadInput, match="config.loss is '', not like"):
        sweeps.config_at(config, {'loss': ''})
    with pytest.raises(BadInput, match='must look like option=value'):
        sweeps.config_at(config, {'loss': 'nt_xent,0.2'})


def read(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_sweep_writes_rows_and_a_figure_and_continues(tmp_path, config, capsys):
    points = sweeps.points([], {'data.num_bits': [0, 2]}, [0, 1])
    assert sweeps.run(config, points[:3], tmp_path, {}) == []
    first = read(tmp_path / 'results.csv')
    assert len(first) == 3
    capsys.readouterr()
    assert sweeps.run(config, points, tmp_path, {}) == []
    rows = read(tmp_path / 'results.csv')
    assert rows[:3] == first  # read, not run again: their seconds are the same
    assert [(row['data.num_bits'], row['seed']) for row in rows] == [
        ('0', '0'), ('2', '0'), ('0', '1'), ('2', '1'),
    ]  # fmt: skip
    names = list(rows[0])
    assert names[:5] == [
        'data.num_bits', 'seed', 'test_accuracy', 'test_accuracy_low', 'test_accuracy_high',
    ]  # fmt: skip
    assert names[-3:] == ['steps', 'seconds', 'workdir']
    assert all(0 <= float(row['test_accuracy']) <= 1 for row in rows)
    assert (tmp_path / 'figure.png').read_bytes()[:4] == b'\x89PNG'
    assert len(capsys.readouterr().out.strip().splitlines()) == 2 + 4 + 1


def test_a_bad_point_is_refused_before_the_first_one_runs(tmp_path, config):
    points = sweeps.points([], {'data.num_bits': [0, 31]}, None)
    with pytest.raises(BadInput, match='config.data.num_bits is 31'):
        sweeps.run(config, points, tmp_path, {})
    assert not list(tmp_path.rglob('metrics.jsonl'))


def test_a_failing_point_does_not_stop_the_others(tmp_path, config):
    config.optimizer = dict(name='adam', learning_rate=1e-3, schedule='constant')
    points = sweeps.points([], {'optimizer.learning_rate': [1e38, 1e-3]}, None)
    failed = sweeps.run(config, points, tmp_path, {})
    assert failed == ['optimizer.learning_rate=1e+38']
    assert [row['optimizer.learning_rate'] for row in read(tmp_path / 'results.csv')] == ['0.001']


def test_the_figure_of_the_config_is_used_when_its_axis_is_swept():
    own = {'x': 'data.num_bits', 'y': 'test_accuracy', 'chance': 0.1}
    rows = [{'test_accuracy': 0.5}, {'test_accuracy': 0.4, 'style_r2': 0.1}]
    assert sweeps.figure_for(['seed', 'data.num_bits'], own, 'test_accuracy', rows) is own
    assert sweeps.figure_for(['seed', 'loss.temperature'], own, 'test_accuracy', rows) == {
        'x': 'loss.temperature', 'y': 'test_accuracy', 'chance': 0.1,
    }  # fmt: skip
    # A metric that not every point has: where all of the latents are content, there is no style.
    style = own | {'y': 'style_r2'}
    assert sweeps.figure_for(['data.num_bits'], style, 'test_accuracy', rows) == own


def test_points_of_a_sweep_have_one_score(config):
    points = [{'evaluation.name': name} for name in ('knn', 'linear_probe')]
    assert sweeps.score_of(config, points) == 'test_accuracy'
    points.append({'evaluation': 'identifiability'})
    with pytest.raises(BadInput, match='different scores: mean_adjusted_r2 and test_accuracy'):
        sweeps.score_of(config, points)
    del config.evaluation  # which the build will tell
    assert sweeps.score_of(config, [{'seed': 1}]) == 'test_accuracy'


def test_directories_do_not_depend_on_the_order_of_the_fields():
    assert sweeps.directory_of({'seed': 1, 'b': 2, 'a': 3}) == 'a=3,b=2,seed=1'
    assert sweeps.directory_of({'a': 3, 'b': 2, 'seed': 1}) == 'a=3,b=2,seed=1'


def test_seeds_given_twice_are_refused():
    with pytest.raises(BadInput, match='twice'):
        sweeps.points([], {'seed': [0, 1]}, [2])


def test_no_point_comes_twice():
    assert sweeps.points([], {'a': [1, 2, 1]}, [0, 0]) == [{'a': 1, 'seed': 0}, {'a': 2, 'seed': 0}]


@pytest.mark.parametrize('index', [-1, 4])
def test_a_point_that_is_not_there_is_refused(tmp_path, config, index):
    points = sweeps.points([], {'data.num_bits': [0, 2]}, [0, 1])
    with pytest.raises(BadInput, match=f'--point is {index}; this sweep has 4 points, 0 to 3.'):
        sweeps.run_point(config, points, index, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_points_run_alone_leave_the_table_to_the_whole_sweep(tmp_path, config):
    points = sweeps.points([], {'seed': [0, 1]}, None)
    for index, there in ((1, ['seed=1']), (0, ['seed=0', 'seed=1'])):
        sweeps.run_point(config, points, index, tmp_path, {'num_steps': 6})
        # Nothing beside the point: another machine may be at work in the same root.
        assert sorted(path.name for path in tmp_path.iterdir()) == there
    record = json.loads((tmp_path / 'seed=1' / 'config.json').read_text())
    assert record['overrides'] == {'num_steps': 6, 'seed': 1}  # as the whole sweep writes them
    logs = logs_of(tmp_path)
    assert sweeps.run(config, points, tmp_path, {}, {'num_steps': 6}) == []
    assert logs_of(tmp_path) == logs  # gathered, not run again
    assert [row['seed'] for row in read(tmp_path / 'results.csv')] == ['0', '1']
    assert (tmp_path / 'figure.png').exists()


def logs_of(root):
    return {path: path.read_text() for path in sorted(root.glob('*/metrics.jsonl'))}


def command(root, *flags):
    """The sweep of two short runs, as a process."""
    return subprocess.Popen(
        [
            sys.executable, '-m', 'experiments.sweep',
            '--config=configs/chen2021/randbit_digits.py:smoke', '--config.num_steps=6',
            '--axis', 'data.num_bits=0,2', '--seeds=1', f'--workdir={root}', *flags,
        ],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={name: value for name, value in os.environ.items() if name != 'XLA_FLAGS'},
    )  # fmt: skip


def test_the_command_counts_the_points_and_writes_nothing(tmp_path):
    process = command(tmp_path / 'root', '--count')
    assert process.communicate(timeout=120) == ('2\n', '')
    assert process.returncode == 0
    assert not (tmp_path / 'root').exists()


@pytest.mark.slow
def test_two_machines_share_a_sweep_and_a_third_gathers_it(tmp_path):
    machines = [command(tmp_path, f'--point={index}') for index in (0, 1)]
    for machine in machines:
        said, complaint = machine.communicate(timeout=300)
        assert machine.returncode == 0, complaint
        assert 'test accuracy' in said
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        'data.num_bits=0,seed=1', 'data.num_bits=2,seed=1',
    ]  # fmt: skip
    other = command(tmp_path, '--point=2')
    assert other.communicate(timeout=300) == (
        '', 'error: --point is 2; this sweep has 2 points, 0 to 1.\n',
    )  # fmt: skip
    assert other.returncode == 2
    logs = logs_of(tmp_path)
    gather = command(tmp_path)
    said, complaint = gather.communicate(timeout=300)
    assert gather.returncode == 0, complaint
    assert logs_of(tmp_path) == logs
    assert [row['data.num_bits'] for row in read(tmp_path / 'results.csv')] == ['0', '2']
