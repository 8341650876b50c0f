"""A run read from its directory: its experiment, and the state of one of its checkpoints."""

from ml_collections import ConfigDict

from contrastive_jax.errors import BadInput, RunFailed
from contrastive_jax.evaluation import protocols
from contrastive_jax.training import build, hosts, state, workdir
from contrastive_jax.training.checkpoints import Checkpoints


def restored_run(path, *, step=None, evaluation=None):
    """What a directory's config builds, and the state of a checkpoint; on all processes alike.

    Args:
      path: the directory of a run.
      step: of the checkpoint; the newest sound one by default.
      evaluation: dict of `name` and options in place of `config.evaluation`; what that reads,
        and of which data, stays unless the options say otherwise, or latents are read.

    Returns:
      (Experiment, TrainState).

    Raises:
      BadInput: no run, no checkpoint, or a config that cannot be built any more.
      RunFailed: the directory or bucket cannot be read.
    """
    config = ConfigDict(hosts.on_first(workdir.read_config, path))
    if evaluation is not None:
        kept = {}
        if evaluation['name'] not in protocols.READ_LATENTS:
            what = ('factor', 'data', 'also')
            kept = {field: config.evaluation[field] for field in what if field in config.evaluation}
        config.evaluation = ConfigDict({**kept, **evaluation})
    experiment = hosts.together(build.build, config)
    with workdir.named_in_errors(path, RunFailed):
        checkpoints = Checkpoints(path, create=False)
        try:
            if checkpoints.latest_step is None:
                raise BadInput(f'workdir {path} has no checkpoint yet.')
            return experiment, checkpoints.restore(state.state_shapes(experiment), step)
        finally:
            checkpoints.close()
