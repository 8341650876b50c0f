"""metrics.jsonl and TensorBoard events: one row a logged step, in order, none twice."""

import contextlib
import json
import math
import tempfile
import time
from pathlib import Path

from tensorboardX import SummaryWriter

from contrastive_jax import storage

FILE = 'metrics.jsonl'

# The log of a run in a bucket is uploaded whole: no more often than this, and for no more than a
# tenth of the time, but for what `sync` asks.
UPLOAD_SECONDS = 30


def read(workdir):
    """All rows of a workdir as a list of dicts; a half-written last line is left out."""
    path = storage.path(workdir) / FILE
    rows = []
    if path.exists():
        for line in path.read_bytes().decode().splitlines():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                break  # the process was killed while it wrote this line
    return rows


class MetricsLog:
    """Appends rows; rows after the restored step are dropped, since they are made again.

    A bucket cannot append: the files of a run there lie in a temporary directory and are uploaded.

    Args:
      workdir: where metrics.jsonl and the events lie; a directory or gs://bucket/path.
      step: the step that the run continues from; 0 for a new run.
      writes: whether this process is the one that writes; others touch no file.
    """

    def __init__(self, workdir, step, writes=True):
        self._writes = writes
        self._uploads = writes and storage.in_bucket(workdir)
        if not writes:
            return
        kept = [row for row in read(workdir) if row['step'] <= step]
        self._home = self._workdir = storage.path(workdir)
        if self._uploads:
            self._temporary = tempfile.TemporaryDirectory()
            self._home = Path(self._temporary.name)
        path = self._home / FILE
        storage.write(path, ''.join(json.dumps(row) + '\n' for row in kept).encode())
        self._file = path.open('a', encoding='utf-8')
        self._events = SummaryWriter(str(self._home / 'tensorboard'), purge_step=step + 1)
        self.sync()

    def write(self, step, values):
        """Writes one row of floats, flushed at once, and returns it as `read` gives it back."""
        row = {'step': step, **{name: round_for_log(value) for name, value in values.items()}}
        if self._writes:
            self._file.write(json.dumps(row) + '\n')
            self._file.flush()
            for name, value in values.items():
                self._events.add_scalar(name, float(value), step)
            if self._uploads and time.monotonic() > self._next_upload:
                with contextlib.suppress(Exception):  # the next `sync` tells it
                    self.sync()
        return row

    def sync(self):
        """Returns when every row is in the workdir; raises what its bucket raises."""
        if not self._uploads:
            return
        started = time.monotonic()
        self._events.flush()
        try:
            for name, file in storage.files_below(self._home).items():
                storage.write(self._workdir / name, file.read_bytes())
        finally:
            now = time.monotonic()
            self._next_upload = now + max(UPLOAD_SECONDS, 10 * (now - started))

    def close(self):
        """Closes both files; what must not be lost was flushed at once, or by `sync`."""
        for file in (self._file, self._events) if self._writes else ():
            with contextlib.suppress(OSError):
                file.close()
        if self._uploads:
            with contextlib.suppress(Exception):
                self.sync()
            self._temporary.cleanup()


def round_for_log(value):
    """A float with the 9 significant digits that name every float32 exactly."""
    value = float(value)
    return float(f'{value:.9g}') if math.isfinite(value) else value
