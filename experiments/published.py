"""The runs of an experiment as results/ keeps them: a table and what made it."""

import csv
import hashlib
import json

from contrastive_jax import storage
from contrastive_jax.training import sweeps, workdir
from experiments import config_files

ROWS, RECORD = 'results.csv', 'record.json'


def identity(config, points):
    """What two sweeps share if and only if they are the same: config and points, without paths.

    Of the points a digest: results.csv lists them.
    """
    there = workdir.plain(config)
    there['data'].pop('data_dir', None)
    digest = hashlib.sha256(json.dumps(points, sort_keys=True).encode()).hexdigest()
    return {'config': there, 'points_sha256': digest}


def is_current(directory, config, points):
    """Whether the directory holds the whole sweep of this config and these points."""
    path = directory / RECORD
    if not path.exists() or not (directory / ROWS).exists():
        return False
    record = json.loads(path.read_text(encoding='utf-8'))
    here = identity(config, points)
    return {name: record.get(name) for name in here} == here


def read_rows(directory):
    """The rows of results.csv as dicts: numbers as numbers, anything else as text."""
    with (directory / ROWS).open(newline='', encoding='utf-8') as file:
        return [
            {name: config_files.parse_value(cell) for name, cell in row.items()}
            for row in csv.DictReader(file)
        ]


def read_record(directory):
    """What made the rows, see `publish`."""
    return json.loads((directory / RECORD).read_text(encoding='utf-8'))


def publish(directory, root, config, points, command):
    """Keeps a finished sweep: its results.csv and record.json.

    Args:
      directory: a `Path` in results/, made if need be.
      root: the directory of the sweep.
      config: its ConfigDict.
      points: its points.
      command: what makes it again.
    """
    directory.mkdir(parents=True, exist_ok=True)
    runs = [storage.path(root) / sweeps.directory_of(point) for point in points]
    made = [json.loads((run / workdir.FILE).read_bytes()) for run in runs]
    rows = (storage.path(root) / ROWS).read_bytes()
    storage.write(directory / ROWS, rows)
    record = {
        'command': command,
        # Runs of before it was kept are of the machine that reads them.
        'machine': ' and '.join(sorted({run.get('machine', workdir.machine()) for run in made})),
        'commits': sorted({str(run['commit']) for run in made}),
        'versions': made[0]['versions'],
        'seconds': round(sum(row['seconds'] for row in read_rows(directory))),
        **identity(config, points),
    }
    workdir.write(record, directory / RECORD)


def scale_of(config, points):
    """Data, length and model of a sweep in one line."""

    def range_of(name):
        values = {point.get(name, config[name]) for point in points}
        ends = sorted({min(values), max(values)})
        return ' to '.join(f'{end:,}' for end in ends)

    return (
        f'{config.data.source}, {range_of("num_steps")} steps of batch {range_of("batch_size")}, '
        f'model {config.model.name}, {len(points)} runs'
    )
