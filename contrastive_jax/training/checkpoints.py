"""Checkpoints (Orbax): the whole train state, saved in the background, committed by a rename."""

from pathlib import Path

import jax
import orbax.checkpoint as ocp

from contrastive_jax.errors import BadInput


class Checkpoints:
    """The checkpoints of a workdir.

    Args:
      workdir: a directory; they lie in its `checkpoints/<step>`.
      keep: how many of the newest to keep.
      create: whether to make the directory; False for reading.
    """

    def __init__(self, workdir, keep=2, create=True):
        options = ocp.CheckpointManagerOptions(max_to_keep=keep, create=create)
        directory = (Path(workdir) / 'checkpoints').resolve()
        self._manager = ocp.CheckpointManager(
            directory, options=options, item_handlers=ocp.StandardCheckpointHandler()
        )

    @property
    def latest_step(self):
        """The step of the newest committed checkpoint, or None."""
        return self._manager.latest_step()

    def save(self, step, state):
        """Saves the state in the background; returns when the state may be donated."""
        self._manager.save(step, args=ocp.args.StandardSave(state._asdict()))

    def restore(self, like, step=None):
        """The state at a step, by default the newest.

        Args:
          like: a state of arrays or shapes with shardings, as which it is restored.
          step: one of the steps kept.

        Returns:
          A state of the type of `like`.

        Raises:
          BadInput: no checkpoint at that step, or one of another architecture.
        """
        step = self.latest_step if step is None else step
        kept = sorted(self._manager.all_steps())
        if step not in kept:
            raise BadInput(f'There is no checkpoint at step {step}; the steps kept are: {kept}.')
        self._check_shapes(like, step)
        restored = self._manager.restore(step, args=ocp.args.StandardRestore(like._asdict()))
        return type(like)(**restored)

    def _check_shapes(self, like, step):
        saved = self._manager.item_metadata(step)
        found = _shapes(saved.tree if hasattr(saved, 'tree') else saved)
        wanted = _shapes(like._asdict())
        if differing := sorted(
            name for name in {*found, *wanted} if found.get(name) != wanted.get(name)
        ):
            shown = '; '.join(
                f'{name}: saved {found.get(name)}, wanted {wanted.get(name)}'
                for name in differing[:5]
            )
            raise BadInput(
                f'The checkpoint at step {step} is of another model in {len(differing)} arrays, '
                f'for example {shown}.'
            )

    def wait(self):
        """Returns when every save has been committed."""
        self._manager.wait_until_finished()

    def close(self):
        """Waits for a save in the background and closes."""
        self.wait()
        self._manager.close()


def _shapes(tree):
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {
        jax.tree_util.keystr(path, simple=True, separator='/'): leaf.shape for path, leaf in leaves
    }
