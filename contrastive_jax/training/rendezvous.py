"""Who is there: the processes of a run find each other before JAX connects them.

JAX ends a process by an abort when another one is missing, without saying which, and nothing can
catch it. So process 0 first listens on the coordinator's port and each other one announces itself
there; the port is then JAX's.
"""

import contextlib
import socket
import time

from contrastive_jax.errors import RunFailed

WORD, ALL_HERE = 'contrastive_jax', 'all here'
PATIENCE = 5.0  # seconds for a line to arrive on a connection that stands


def meet(coordinator, count, index, seconds):
    """Returns when all processes are there.

    Args:
      coordinator: host:port of process 0; the port is free there.
      count: the number of processes.
      index: of this one.
      seconds: how long to wait for the others.

    Raises:
      RunFailed: some are missing, and which; two have one index; they differ about `count`.
    """
    deadline = time.monotonic() + seconds
    if index == 0:
        verdict = _listen(coordinator, count, seconds, deadline)
    else:
        verdict = _announce(coordinator, count, index, seconds, deadline)
    if verdict != ALL_HERE:
        raise RunFailed(verdict)


def _listen(coordinator, count, seconds, deadline):
    """Process 0: collects the others, and tells those who came how it ended."""
    port = int(coordinator.rpartition(':')[2])
    came, heard, verdict = set(), [], ALL_HERE
    try:
        server = _server(port)
    except OSError as error:
        return f'Process 0 cannot listen on port {port}, the coordinator: {error}.'
    with server, contextlib.ExitStack() as connections:
        while len(came) < count - 1 and verdict == ALL_HERE:
            server.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                connection = connections.enter_context(server.accept()[0])
                connection.settimeout(PATIENCE)
                their_count, their_index = _announcement(_read(connection))
            except TimeoutError:
                if time.monotonic() < deadline:
                    continue  # one that connected and said nothing
                missing = [other for other in range(1, count) if other not in came]
                verdict = (
                    f'Of {count} processes {_named(missing)} missing after {seconds:g} s: not '
                    f'heard at the coordinator, {coordinator}.'
                )
            except (OSError, ValueError):
                continue  # a stranger, or one that left
            else:
                verdict = _objection(their_index, their_count, count, came)
                came.add(their_index)
                heard.append(connection)
        for connection in heard:
            with contextlib.suppress(OSError):
                connection.sendall(f'{verdict}\n'.encode())
    return verdict


def _announce(coordinator, count, index, seconds, deadline):
    """Any other process: says that it is there, and hears from process 0 how it ended."""
    host, _, port = coordinator.rpartition(':')
    address = (host.strip('[]'), int(port))
    while True:
        try:
            left = max(deadline - time.monotonic(), 0.001)
            with socket.create_connection(address, timeout=left) as connection:
                connection.sendall(f'{WORD} {count} {index}\n'.encode())
                # Process 0 may have begun to wait later than this one.
                connection.settimeout(seconds + PATIENCE)
                if verdict := _read(connection):
                    return verdict
        except OSError:
            pass  # process 0 is not there yet
        if time.monotonic() >= deadline:
            return (
                f'Of {count} processes number 0 is missing after {seconds:g} s: nothing answers at '
                f'the coordinator, {coordinator}.'
            )
        time.sleep(0.2)


def _server(port):
    if socket.has_dualstack_ipv6():
        return socket.create_server(
            ('', port), family=socket.AF_INET6, backlog=4096, dualstack_ipv6=True
        )
    return socket.create_server(('', port), backlog=4096)


def _read(connection):
    """One line, without its end; what came of it if the other side closed."""
    with connection.makefile(encoding='utf-8', errors='replace') as lines:
        return lines.readline(4096).rstrip('\n')


def _announcement(line):
    """(count, index) of a process; ValueError for what a stranger says."""
    word, count, index = line.split()
    if word != WORD:
        raise ValueError(line)
    return int(count), int(index)


def _objection(index, their_count, count, came):
    """What speaks against a process that announces itself, or ALL_HERE."""
    if their_count != count:
        return f'Process {index} was started as one of {their_count}, process 0 as one of {count}.'
    if index in came or not 0 < index < count:
        return f'Process index {index} was given twice; those of {count} are 0 to {count - 1}.'
    return ALL_HERE


def _named(missing):
    """'number 3 is' or 'numbers 1 and 3 are'; of many, the first ten."""
    names = [str(index) for index in missing[:10]]
    if len(missing) > 10:
        names.append(f'{len(missing) - 10} more')
    if len(names) == 1:
        return f'number {names[0]} is'
    return f'numbers {", ".join(names[:-1])} and {names[-1]} are'
