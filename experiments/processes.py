"""Commands that run on several processes, which compute and end as one."""

import contextlib
import traceback

from absl import flags

from contrastive_jax.errors import BadInput, Preempted, RunFailed
from experiments import cli


def define():
    """Defines the flags that say which of several processes this one is."""
    flags.DEFINE_string(
        'coordinator', '', "host:port of process 0 of several; 'auto' where JAX knows the machines."
    )
    flags.DEFINE_integer('num_processes', 0, 'The number of processes.')
    flags.DEFINE_integer('process_index', -1, 'The index of this one, from 0.')
    flags.DEFINE_float('join_seconds', 300.0, 'How long to wait for the other processes.')


@contextlib.contextmanager
def joined():
    """A block that the processes of the flags run together, as `hosts.join`.

    Where one of several ends early, it tells why, and all end; alone, errors are left to `cli`.
    """
    from contrastive_jax.training import endings, hosts  # not above: --help must answer at once

    values = flags.FLAGS
    hosts.join(values.coordinator, values.num_processes, values.process_index, values.join_seconds)
    if not endings.several():
        yield
        return
    try:
        with hosts.losses_named():
            yield
    except (BadInput, RunFailed, Preempted) as error:
        cause = error.__cause__
        if isinstance(error, hosts.ProcessLost) and not isinstance(cause, hosts.EXPLAINED):
            traceback.print_exception(cause)
        endings.end(cli.tell(error), str(error))
