"""Where one of several processes fails, it says why, and the others say it and end."""

import signal
import time

import pytest

from tests.training import processes

BROKEN_LOG = """
import jax
from experiments import train
from contrastive_jax.training import metrics_log

write = metrics_log.MetricsLog.write

def broken(self, step, values):
    if step == 3 and jax.process_index() == {victim}:
        raise {error}
    return write(self, step, values)

metrics_log.MetricsLog.write = broken
train.cli.run(train.main)
"""


def ended(group, victim, sentence):
    """Asserts that all end with 1 and the sentence, the others naming the process that failed."""
    started = time.monotonic()
    done = processes.finish(group)
    for index, (code, out, err) in enumerate(done):
        assert code == 1, (out, err)
        named = '' if index == victim else f'On process {victim}: '
        assert f'failed: {named}{sentence}' in err, err
    return done, time.monotonic() - started


@pytest.mark.slow
@pytest.mark.parametrize(
    ('victim', 'error', 'sentences'),
    [
        (1, "TypeError('unhashable')", ['TypeError: unhashable']),
        (
            0,
            "OSError(28, 'No space left on device')",
            ['workdir ', 'No space left on device', 'Step 2 is kept.'],
        ),
    ],
)
def test_whatever_fails_on_one_process_ends_all(tmp_path, victim, error, sentences):
    program = tmp_path / 'program.py'
    program.write_text(BROKEN_LOG.format(victim=victim, error=error))
    flags = ('--config.num_steps=9', '--config.checkpoint_every=2')
    group = processes.start(tmp_path / 'run', 2, *flags, program=[str(program)])
    done, seconds = ended(group, victim, sentences[0])
    assert seconds < 60 + 30  # of which the start may take half a minute
    for index, (_, _, err) in enumerate(done):
        assert all(sentence in err for sentence in sentences)
        assert ('Traceback' in err) == (index == victim and 'TypeError' in error)


@pytest.mark.slow
def test_an_interrupt_of_one_process_ends_all(tmp_path):
    group = processes.start(tmp_path / 'run', 2, '--config.num_steps=20000')
    processes.wait_for_rows(tmp_path / 'run', 20, group)
    group[1].send_signal(signal.SIGINT)
    done, seconds = ended(group, 1, 'KeyboardInterrupt')
    assert seconds < 60
    assert all('Traceback' not in err for _, _, err in done)
