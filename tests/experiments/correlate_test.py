"""The correlate command: table, files, exit codes."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = 'results/lee2023/paper/table_vi.csv'


def run(*flags):
    command = [sys.executable, '-m', 'experiments.correlate', *flags]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def width_of(png):
    return int.from_bytes(png.read_bytes()[16:20])


@pytest.mark.slow
def test_prints_the_table_and_writes_it_with_a_figure(tmp_path):
    done = run(f'--table={TABLE}', '--lower_is_better=alignment,uniformity', f'--output={tmp_path}')
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1].split()[:4] == ['I_class', '16', '0', '0.97']
    assert [line.split()[0] for line in lines[2:4]] == ['I_SimCLR', 'uniformity']
    with (tmp_path / 'correlations.csv').open() as file:
        rows = {row['metric']: row for row in csv.DictReader(file)}
    assert abs(float(rows['uniformity']['pearson']) - 0.381) < 0.001
    assert abs(float(rows['alignment']['kendall']) - 0.159) < 0.001
    assert (tmp_path / 'correlations.png').stat().st_size > 20_000
    assert len(list(tmp_path.iterdir())) == 2
    # Without a column of words there is no list of models beside the panels.
    nameless = tmp_path / 'nameless.csv'
    nameless.write_text('acc,a,b\n1,2,3\n2,3,1\n3,5,4\n4,4,4\n')
    assert run(f'--table={nameless}', f'--output={tmp_path / "other"}').returncode == 0
    widths = [width_of(path / 'correlations.png') for path in (tmp_path, tmp_path / 'other')]
    panels = [3, 2]
    assert widths[0] / panels[0] > 1.2 * widths[1] / panels[1]


def test_bad_input_exits_with_2_and_one_sentence(tmp_path):
    done = run(f'--table={TABLE}', '--accuracy=accuracy')
    assert done.returncode == 2
    assert done.stderr.startswith("error: 'accuracy' is no column of numbers; ")
    assert len(done.stderr.strip().splitlines()) == 1
