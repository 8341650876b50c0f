"""metrics.jsonl: rows survive a kill, and none is written twice."""

import json

import numpy as np

from contrastive_jax.training import metrics_log


def test_rows_are_read_as_written(tmp_path):
    log = metrics_log.MetricsLog(tmp_path, 0)
    log.write(1, {'loss': np.float32(0.1), 'rate': 3})
    log.write(2, {'test_accuracy': 0.937})
    log.close()
    rows = metrics_log.read(tmp_path)
    assert rows[1] == {'step': 2, 'test_accuracy': 0.937}
    assert np.float32(rows[0]['loss']) == np.float32(0.1)
    assert list((tmp_path / 'tensorboard').iterdir())


def test_rows_after_the_restored_step_are_dropped(tmp_path):
    log = metrics_log.MetricsLog(tmp_path, 0)
    for step in (1, 2, 3, 4):
        log.write(step, {'loss': step})
    log.close()
    log = metrics_log.MetricsLog(tmp_path, 2)
    log.write(3, {'loss': 30})
    log.close()
    assert [row['loss'] for row in metrics_log.read(tmp_path)] == [1, 2, 30]


def test_a_half_written_line_is_left_out(tmp_path):
    path = tmp_path / metrics_log.FILE
    path.write_text(json.dumps({'step': 1, 'loss': 1.0}) + '\n{"step": 2, "lo')
    assert metrics_log.read(tmp_path) == [{'step': 1, 'loss': 1.0}]
    log = metrics_log.MetricsLog(tmp_path, 2)
    log.write(3, {'loss': 3.0})
    log.close()
    assert [row['step'] for row in metrics_log.read(tmp_path)] == [1, 3]


def test_no_file_is_no_rows(tmp_path):
    assert metrics_log.read(tmp_path) == []
