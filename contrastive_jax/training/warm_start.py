"""Warm starts: `config.init_from` takes the encoder, and its bank, from another run."""

import jax

from contrastive_jax import sharding
from contrastive_jax.errors import BadInput
from contrastive_jax.training import workdir as workdirs
from contrastive_jax.training.checkpoints import Checkpoints, differences


def warm_started(state, config, mesh, say=lambda sentence: None):
    """The state with the encoder of another run, and its bank where both have one.

    The bank is taken where both runs have the same data: row i is of example i. A momentum encoder
    starts as that encoder; what is trained beside it and the optimizer start as they are. Without
    `config.init_from` the state is returned as it is.

    Args:
      state: a `TrainState` before step 0, of arrays or shapes.
      config: of the run; its `init_from` is 'workdir' or 'workdir@step', the newest sound
        checkpoint by default.
      mesh: the devices.
      say: called with a sentence where a bank is not taken.

    Returns:
      A `TrainState`.

    Raises:
      BadInput: no run, no checkpoint, or one of another architecture, whose arrays are named.
    """
    init_from = config.get('init_from')
    if not init_from:
        return state
    path, step = parsed(init_from)
    same_data = workdirs.read_config(path)['data'] == workdirs.plain(config)['data']
    checkpoints = Checkpoints(path, create=False)
    try:
        if checkpoints.latest_step is None:
            raise BadInput(f'config.init_from is {init_from!r}, which has no checkpoint yet.')
        saved = checkpoints.restore_as_saved(sharding.replicated(mesh), step)
    finally:
        checkpoints.close()
    taken = {'params': saved['params'], 'batch_stats': saved['batch_stats'] or {}}
    wanted = {'params': state.params, 'batch_stats': state.batch_stats}
    memory = dict(state.memory)
    for name, rows in (saved.get('memory') or {}).items():
        if name.startswith('bank') and name in memory:
            if same_data:
                taken[name], wanted[name] = rows, memory[name]
            else:
                say(f'The bank of {init_from} is of other data: this run starts its own.')
    if differing := differences(taken, wanted):
        raise BadInput(
            f'config.init_from is {init_from!r}, a run of another architecture in '
            f'{len(differing)} arrays, for example {"; ".join(differing[:5])}.'
        )
    also = ' and the bank' if any(name in taken for name in memory) else ''
    say(f'Starts from the encoder{also} of {init_from}.')
    memory |= {name: taken[name] for name in memory if name in taken}
    params, batch_stats = taken['params'], taken['batch_stats']
    target = jax.tree.map(jax.numpy.copy, params) if state.target else state.target
    return state._replace(params=params, batch_stats=batch_stats, target=target, memory=memory)


def parsed(init_from):
    """(workdir, step) of 'workdir' or 'workdir@step'; without a step it is None."""
    if not isinstance(init_from, str):
        raise BadInput(
            f"config.init_from is {init_from!r}; it must be 'workdir' or 'workdir@step'."
        )
    path, at, step = init_from.rpartition('@')
    return (path, int(step)) if at and step.isdecimal() else (init_from, None)
