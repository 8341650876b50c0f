"""What launch/watch.sh decides, against a `gcloud` that plays a sequence of states."""

import pytest

NEW_TPU = ['create', 'copy', 'install', 'start']
ABSENT = ('absent', '', '')
WAITING = ('WAITING_FOR_RESOURCES', '', '')
RUN = ('--name=probe', '--poll=0', '--', 'python', '-m', 'experiments.train', "--loss=f,x='a b'")


def ready(run):
    return ('ACTIVE', 'READY', run)


RUNS = (ABSENT, WAITING, ready('new'), ready('running'))


def test_preempted_once_then_done(cloud):
    done = cloud.run('watch.sh', *RUN, looks=[
        *RUNS, ('SUSPENDING', '', ''), ('SUSPENDED', '', ''), *RUNS, ready('exit 0'),
    ])  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert cloud.deeds() == [*NEW_TPU, 'delete', *NEW_TPU, 'delete']
    creates, starts = (
        [call for call in cloud.calls() if word in ' '.join(call)]
        for word in (' create ', 'on_worker.sh start')
    )
    assert creates[0] == creates[1]
    assert starts[0] == starts[1]  # the very same command
    assert 'the TPU was taken away; restart 1' in done.stdout


def test_the_tpu_is_preempted_while_its_request_is_still_active(cloud):
    done = cloud.run('watch.sh', *RUN, looks=[
        *RUNS, ('ACTIVE', 'PREEMPTED', ''), *RUNS, ready('exit 0'),
    ])  # fmt: skip
    assert done.returncode == 0
    assert cloud.deeds() == [*NEW_TPU, 'delete', *NEW_TPU, 'delete']


@pytest.mark.parametrize('code', [1, 2])
def test_a_failed_run_ends_it_with_the_end_of_the_log(cloud, code):
    done = cloud.run('watch.sh', *RUN, looks=[*RUNS, ready(f'exit {code}, running')])
    assert done.returncode == code
    assert cloud.deeds() == [*NEW_TPU, 'log', 'delete']
    assert 'the last line of the log' in done.stdout
    assert f'the run failed with exit code {code}' in done.stdout


def test_a_run_that_fails_because_its_tpu_goes_is_started_again(cloud):
    done = cloud.run('watch.sh', *RUN, looks=[
        *RUNS, ready('exit 1'), ('SUSPENDED', '', ''), *RUNS, ready('exit 0'),
    ])  # fmt: skip
    assert done.returncode == 0
    assert cloud.deeds() == [*NEW_TPU, 'delete', *NEW_TPU, 'delete']


def test_exit_code_42_starts_the_same_command_on_the_same_tpu(cloud):
    done = cloud.run('watch.sh', *RUN, looks=[
        *RUNS, ready('exit 42, running'), ready('exit 42'), ready('running'), ready('exit 0'),
    ])  # fmt: skip
    assert done.returncode == 0
    assert cloud.deeds() == [*NEW_TPU, 'start', 'delete']


def test_it_waits_for_the_last_worker(cloud):
    done = cloud.run('watch.sh', *RUN, looks=[
        *RUNS, ready('exit 0, running'), ready('exit 0, running'), ready('exit 0, exit 0'),
    ])  # fmt: skip
    assert done.returncode == 0
    assert cloud.deeds() == [*NEW_TPU, 'delete']
    assert sum('on_worker.sh status' in ' '.join(call) for call in cloud.calls()) == 5


def test_a_lost_connection_creates_and_deletes_nothing(cloud):
    done = cloud.run('watch.sh', *RUN, looks=[
        ready('running'), ('offline', '', ''), ('ACTIVE', 'offline', ''), ready('silent'),
        ready('running'), ready('exit 0'),
    ])  # fmt: skip
    assert done.returncode == 0
    assert cloud.deeds() == ['delete']


def test_what_ended_before_the_call_is_started_anew(cloud):
    looks = [ready('exit 1'), ready('running'), ready('exit 0')]
    assert cloud.run('watch.sh', *RUN, looks=looks).returncode == 0
    assert cloud.deeds() == ['copy', 'install', 'start', 'delete']


def test_three_requests_in_a_row_that_fail_are_enough(cloud):
    done = cloud.run('watch.sh', *RUN, looks=[ABSENT, ('FAILED', '', '')] * 3)
    assert done.returncode == 1
    assert cloud.deeds() == ['create', 'delete'] * 3 + ['delete']
    assert 'gives up: 3 times in a row' in done.stdout


def test_a_refused_request_is_not_repeated_for_ever(cloud):
    (cloud.directory / 'create_fails').touch()
    done = cloud.run('watch.sh', *RUN, looks=[ABSENT])
    assert done.returncode == 1
    assert cloud.deeds() == ['create'] * 3 + ['delete']
    assert 'RESOURCE_EXHAUSTED' in done.stderr


@pytest.mark.slow
def test_a_run_that_is_killed_again_and_again_ends_it(cloud):
    done = cloud.run('watch.sh', *RUN, looks=[*RUNS, ready('killed'), ready('exit 137')])
    assert done.returncode == 1
    assert cloud.deeds() == [*NEW_TPU, 'start', 'start', 'log', 'delete']


def test_restarts_are_bounded(cloud):
    flags = ('--max_restarts=2', *RUN)
    done = cloud.run('watch.sh', *flags, looks=[*RUNS, ready('exit 42')])
    assert done.returncode == 1
    assert cloud.deeds() == [*NEW_TPU, 'start', 'start', 'delete']


@pytest.mark.slow
def test_a_ready_tpu_that_never_answers_is_made_anew(cloud):
    looks = [*RUNS, *[ready('silent')] * 10, *RUNS, ready('exit 0')]
    assert cloud.run('watch.sh', *RUN, looks=looks).returncode == 0
    assert cloud.deeds() == [*NEW_TPU, 'delete', *NEW_TPU, 'delete']


def test_it_does_not_touch_a_tpu_that_runs_something_else(cloud):
    done = cloud.run('watch.sh', *RUN, looks=[ready('busy')])
    assert done.returncode == 1
    assert cloud.deeds() == []
    assert 'runs another command' in done.stdout


def test_keep_leaves_the_tpu_and_says_what_it_costs(cloud):
    done = cloud.run('watch.sh', '--keep', *RUN, looks=[*RUNS, ready('exit 0')])
    assert done.returncode == 0
    assert cloud.deeds() == NEW_TPU
    assert 'costs until launch/delete.sh --name=probe' in done.stdout


def test_a_tpu_that_cannot_be_deleted_is_said_and_no_success(cloud):
    (cloud.directory / 'delete_fails').touch()
    done = cloud.run('watch.sh', *RUN, looks=[*RUNS, ready('exit 0')])
    assert done.returncode == 1
    assert 'COULD NOT BE DELETED' in done.stdout


def test_without_a_queue_the_tpu_itself_is_asked(cloud):
    done = cloud.run('watch.sh', '--request=direct', *RUN, looks=[
        ('absent', ''), ('CREATING', ''), ('READY', 'new'), ('READY', 'running'),
        ('PREEMPTED', ''), ('absent', ''), ('READY', 'new'), ('READY', 'exit 0'),
        ('READY', 'running'), ('READY', 'exit 0'),
    ])  # fmt: skip
    assert done.returncode == 0
    assert cloud.deeds() == [*NEW_TPU, 'delete', *NEW_TPU, 'delete']
    assert not any('queued-resources' in call for call in cloud.calls())


def test_a_real_run_that_ends_with_42_and_then_with_0(cloud):
    command = 'if [ -e "$HOME/a mark" ]; then exit 0; fi; touch "$HOME/a mark"; exit 42'
    done = cloud.run(
        'watch.sh', '--poll=1', '--', 'bash', '-c', command, looks=[ABSENT, ready('real')]
    )
    assert done.returncode == 0, done.stderr
    assert cloud.deeds() == [*NEW_TPU, 'start', 'delete']
    log = (cloud.directory / 'worker' / 'run' / 'log').read_text()
    assert [line.split()[-1] for line in log.splitlines() if 'exit code' in line] == ['42', '0']
