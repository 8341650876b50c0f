"""Processes find each other, or say who is missing: threads on the loopback."""

import concurrent.futures
import socket
import time

import pytest

from contrastive_jax.errors import RunFailed
from contrastive_jax.training import rendezvous


def free_port():
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


def meet(calls, seconds=20.0, before=lambda port: None):
    """What each call (index, count it says) gets: None, or its sentence; `before` the last one."""
    port = free_port()

    def one(index, said):
        try:
            return rendezvous.meet(f'127.0.0.1:{port}', said, index, seconds)
        except RunFailed as error:
            return str(error)

    with concurrent.futures.ThreadPoolExecutor(len(calls) + 1) as pool:
        futures = [pool.submit(one, *call) for call in calls[:-1]]
        before(port)
        futures.append(pool.submit(one, *calls[-1]))
        return [future.result() for future in futures]


def test_all_who_are_there_go_on_and_the_port_is_free():
    for count in (2, 5):
        found = meet([(index, count) for index in range(count)])
        assert found == [None] * count


def test_the_port_can_be_used_at_once():
    port = free_port()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda i: rendezvous.meet(f'127.0.0.1:{port}', 2, i, 20.0), range(2)))
    with socket.create_server(('', port)) as server:  # an OSError where it is still taken
        assert server.getsockname()[1] == port


@pytest.mark.parametrize(
    ('here', 'missing'),
    [((0, 1, 3), 'number 2 is'), ((0, 2), 'numbers 1 and 3 are'), ((0,), 'numbers 1, 2 and 3 are')],
)
def test_the_missing_are_named_to_everyone(here, missing):
    found = meet([(index, 4) for index in here], seconds=1.0)
    assert all(f'Of 4 processes {missing} missing after 1 s' in sentence for sentence in found)


def test_without_process_0_the_others_name_it():
    started = time.monotonic()
    for sentence in meet([(1, 3), (2, 3)], seconds=1.0):
        assert 'Of 3 processes number 0 is missing after 1 s' in sentence
    assert time.monotonic() - started < 10


def test_one_index_twice_and_different_numbers_of_processes():
    for sentence in meet([(0, 3), (1, 3), (1, 3)]):
        assert 'Process index 1 was given twice; those of 3 are 0 to 2.' in sentence
    for sentence in meet([(0, 2), (1, 3)]):
        assert sentence == 'Process 1 was started as one of 3, process 0 as one of 2.'


def test_a_stranger_at_the_port_changes_nothing():
    def strange(port):
        for words in (b'GET / HTTP/1.1\r\n\r\n', b'', b'contrastive_jax x y\n', b'\xff\n'):
            for _ in range(50):
                try:
                    with socket.create_connection(('127.0.0.1', port), timeout=1) as connection:
                        connection.sendall(words)
                    break
                except OSError:
                    time.sleep(0.02)

    found = meet([(0, 3), (1, 3), (2, 3)], before=strange)
    assert found == [None] * 3


def test_a_port_in_use_says_so():
    with socket.create_server(('', 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RunFailed, match=f'cannot listen on port {port}'):
            rendezvous.meet(f'127.0.0.1:{port}', 2, 0, 1.0)
