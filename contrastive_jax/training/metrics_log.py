"""metrics.jsonl and TensorBoard events: one row a logged step, in order, none twice."""

import contextlib
import json
import math
from pathlib import Path

from tensorboardX import SummaryWriter

FILE = 'metrics.jsonl'


def read(workdir):
    """All rows of a workdir as a list of dicts; a half-written last line is left out."""
    path = Path(workdir) / FILE
    rows = []
    if path.exists():
        for line in path.read_text(encoding='utf-8').splitlines():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                break  # the process was killed while it wrote this line
    return rows


class MetricsLog:
    """Appends rows; rows after the restored step are dropped, since they are made again.

    Args:
      workdir: where metrics.jsonl and the events lie.
      step: the step that the run continues from; 0 for a new run.
      writes: whether this process is the one that writes; others touch no file.
    """

    def __init__(self, workdir, step, writes=True):
        self._writes = writes
        if not writes:
            return
        path = Path(workdir) / FILE
        kept = [row for row in read(workdir) if row['step'] <= step]
        beside = path.with_suffix('.part')
        beside.write_text(''.join(json.dumps(row) + '\n' for row in kept), encoding='utf-8')
        beside.replace(path)
        self._file = path.open('a', encoding='utf-8')
        self._events = SummaryWriter(str(Path(workdir) / 'tensorboard'), purge_step=step + 1)

    def write(self, step, values):
        """Writes one row of floats, flushed at once, and returns it as `read` gives it back."""
        row = {'step': step, **{name: round_for_log(value) for name, value in values.items()}}
        if self._writes:
            self._file.write(json.dumps(row) + '\n')
            self._file.flush()
            for name, value in values.items():
                self._events.add_scalar(name, float(value), step)
        return row

    def close(self):
        """Closes both files. Every row was flushed when it was written: nothing is lost here."""
        for file in (self._file, self._events) if self._writes else ():
            with contextlib.suppress(OSError):
                file.close()


def round_for_log(value):
    """A float with the 9 significant digits that name every float32 exactly."""
    value = float(value)
    return float(f'{value:.9g}') if math.isfinite(value) else value
