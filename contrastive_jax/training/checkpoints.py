"""Checkpoints (Orbax): the whole train state, saved in the background, committed by a rename.

In a bucket, which has none, the last object to be written commits: commit_success.txt.

A committed checkpoint is sealed by a digest of each of its files, and only a sealed one whose files
still agree is restored: a flipped byte would restore wrong values without a word.

Several processes save and restore together, into one directory that all of them see; the first one
seals and judges.
"""

import contextlib
import logging
import math
import warnings

import jax
import orbax.checkpoint as ocp
from orbax.checkpoint.checkpoint_managers import AnyPreservationPolicy, BestN, LatestN

from contrastive_jax import storage
from contrastive_jax.errors import BadInput, RunFailed
from contrastive_jax.training import digests, hosts


class Checkpoints:
    """The checkpoints of a workdir.

    Args:
      workdir: a directory or gs://bucket/path; they lie in its `checkpoints/<step>`.
      keep: how many of the newest to keep, beside the one with the highest score.
      create: whether to make the directory; False for reading.
    """

    def __init__(self, workdir, keep=2, create=True):
        directory = storage.path(workdir) / 'checkpoints'
        self.directory = directory if storage.in_bucket(directory) else directory.resolve()
        self._unsealed = self._failure = None
        self._manager = ocp.CheckpointManager(
            self.directory,
            options=ocp.CheckpointManagerOptions(
                create=create,
                best_fn=_score,
                preservation_policy=AnyPreservationPolicy(
                    [
                        LatestN(keep),
                        BestN(get_metric_fn=_score, n=1),
                    ]
                ),
            ),
            item_handlers=ocp.StandardCheckpointHandler(),
        )

    @property
    def latest_step(self):
        """The step of the newest committed checkpoint, or None."""
        return self._manager.latest_step()

    @property
    def steps(self):
        """The steps of all committed checkpoints, rising."""
        return sorted(self._manager.all_steps())

    def save(self, step, state, score=None):
        """Saves the state in the background; returns when the state may be donated.

        Args:
          step: of the run.
          state: a `TrainState`.
          score: higher is better; None where the step was not evaluated.

        Raises:
          RunFailed: this save, or the one before, failed.
        """
        self.wait()
        _SAVED_INTO.add(str(self.directory))
        logging.getLogger('asyncio').addFilter(_of_no_checkpoint)
        try:
            with self._failures_named(step):
                # Orbax warns of a save without metrics; this one is never the best.
                metrics = {'score': -math.inf if score is None else float(score)}
                tree = ocp.args.StandardSave(_by_name(state))
                self._manager.save(step, args=tree, metrics=metrics)
        except RunFailed as error:
            if jax.process_count() == 1:
                raise
            raise hosts.ProcessLost(str(error)) from error  # Orbax lets the others wait
        self._unsealed = step

    def poll(self):
        """Seals a checkpoint that was committed meanwhile; raises RunFailed if the save failed.

        Of several processes none stops alone: `wait` raises on all of them.
        """
        if self._unsealed is not None:
            try:
                with self._failures_named(self._unsealed):
                    self._manager.check_for_errors()
                    if not self._manager.is_saving_in_progress():
                        self._seal()
            except RunFailed as error:
                if jax.process_count() == 1:
                    raise
                self._failure = error

    def wait(self):
        """Returns when every save has been committed and sealed; raises RunFailed if one failed."""
        hosts.together(self._finish)  # so that none goes on before the first one has sealed

    def _finish(self):
        if self._failure is not None:
            raise self._failure
        if self._unsealed is not None:
            with self._failures_named(self._unsealed):
                self._manager.wait_until_finished()
                self._seal()

    def close(self):
        """Waits for a save in the background and closes."""
        with contextlib.suppress(RunFailed):  # `wait` tells those who ask
            self._finish()
        with contextlib.suppress(Exception):  # what is to be told has been told
            self._manager.close()

    def newest_sound(self, say, set_aside=False):
        """The newest step whose files are what was written, or None if there is no checkpoint.

        Args:
          say: takes one sentence for each damaged checkpoint that is passed over; called on the
            first process.
          set_aside: move those to `damaged/` in the workdir, so that their steps can be saved anew.

        Raises:
          BadInput: there are checkpoints, and all of them are damaged.
        """
        step = hosts.on_first(self._newest_sound, say, set_aside)
        self._manager.reload()  # the first process may have set some aside
        return step

    def _newest_sound(self, say, set_aside):
        damaged = []
        for step in reversed(self.steps):
            reason = digests.damage(self.directory / str(step))
            if reason is None:
                break
            damaged.append(f'the checkpoint at step {step} {reason}')
            say(f'warning: {damaged[-1]}; it is passed over.')
        else:
            if damaged:
                raise BadInput(
                    f'No checkpoint in {self.directory} is sound: {"; ".join(damaged)}. '
                    'Delete the directory to start anew.'
                )
            return None
        if set_aside:
            for worse in [other for other in self.steps if other > step]:
                self._set_aside(worse)
        return step

    def restore(self, like, step=None):
        """The state at a step.

        Args:
          like: a state of arrays or shapes with shardings, as which it is restored.
          step: one of the steps kept; the newest sound one by default.

        Returns:
          A state of the type of `like`.

        Raises:
          BadInput: no checkpoint at that step, a damaged one, or one of another architecture.
        """
        step = self._sound(step)
        if differing := differences(self._saved_tree(step), like._asdict()):
            raise BadInput(
                f'The checkpoint at step {step} is of another model in {len(differing)} arrays, '
                f'for example {"; ".join(differing[:5])}.'
            )
        restored = self._manager.restore(step, args=ocp.args.StandardRestore(_by_name(like)))
        return type(like)(**restored)

    def restore_as_saved(self, placement, step=None):
        """What is saved at a step, of whatever architecture, as a dict of trees of arrays.

        Args:
          placement: the sharding of every array.
          step: as for `restore`, which also says what is raised.
        """
        step = self._sound(step)
        like = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=placement),
            dict(self._saved_tree(step)),
        )
        return self._manager.restore(step, args=ocp.args.StandardRestore(like))

    def _sound(self, step):
        """The step, by default the newest sound one, after making sure that it can be restored."""
        step = self.newest_sound(warnings.warn) if step is None else step
        if step not in self.steps:
            raise BadInput(
                f'There is no checkpoint at step {step}; the steps kept are: {self.steps}.'
            )
        if reason := hosts.on_first(digests.damage, self.directory / str(step)):
            raise BadInput(
                f'The checkpoint at step {step} {reason}; of {self.steps} choose another.'
            )
        return step

    def _saved_tree(self, step):
        """The tree of a checkpoint, with shapes and types in place of arrays."""
        saved = self._manager.item_metadata(step)
        return saved.tree if hasattr(saved, 'tree') else saved

    def _seal(self):
        if jax.process_index() == 0:
            digests.write(self.directory / str(self._unsealed))
        self._unsealed = None

    def _set_aside(self, step):
        away = self.directory.parent / 'damaged'
        taken = sum(name.startswith(str(step)) for name in storage.names_in(away))
        place = away / (f'{step}.{taken}' if taken else str(step))
        storage.move(self.directory / str(step), place)

    @contextlib.contextmanager
    def _failures_named(self, step):
        """Whatever goes wrong with a save, as one sentence that names what is kept."""
        try:
            yield
        except Exception as error:  # of the disk, of Orbax, of its storage: any type
            self._unsealed = None
            kept = [other for other in self.steps if other != step]
            reason = ' '.join(str(error).split())
            raise RunFailed(
                f'The checkpoint at step {step} could not be saved: {type(error).__name__}: '
                f'{reason[:300]}. '
                + (f'Step {kept[-1]} is kept.' if kept else 'No checkpoint was made before.')
            ) from error


def differences(saved, wanted):
    """Where the shapes of two trees differ: 'name: saved (3,), wanted None' for each array."""
    found, expected = _shapes(saved), _shapes(wanted)
    return [
        f'{name}: saved {found.get(name)}, wanted {expected.get(name)}'
        for name in sorted({*found, *expected})
        if found.get(name) != expected.get(name)
    ]


def _by_name(state):
    """The fields of a state by name, without those that are empty by default and in fact.

    So the checkpoint of a run that needs none of them is no larger for their sake.
    """
    return {
        name: tree
        for name, tree in state._asdict().items()
        if name not in state._field_defaults or jax.tree.leaves(tree)
    }


# The directories that this process has saved into; their writes may outlive a `Checkpoints`.
_SAVED_INTO = set()


def _of_no_checkpoint(record):
    """Whether asyncio's record is of something else than one of the many writes of our checkpoints.

    Orbax tells of the first that fails, which is enough; asyncio logs the others, each with its
    traceback, whenever it collects them.
    """
    message = record.getMessage()
    ours = any(f'{directory}/' in message for directory in _SAVED_INTO)
    return not (ours and 'never retrieved' in message)


def _score(metrics):
    return metrics['score']


def _shapes(tree):
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {
        jax.tree_util.keystr(path, simple=True, separator='/'): leaf.shape for path, leaf in leaves
    }
