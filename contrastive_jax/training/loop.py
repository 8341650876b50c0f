"""The one training loop."""

import math
import sys
import time

import jax
from tqdm import tqdm

from contrastive_jax import sharding, storage
from contrastive_jax.data import batches
from contrastive_jax.errors import BadInput, Preempted, RunFailed
from contrastive_jax.training import hosts, metrics_log, preemption
from contrastive_jax.training import workdir as workdirs
from contrastive_jax.training.build import build, check_fields
from contrastive_jax.training.checkpoints import Checkpoints
from contrastive_jax.training.evaluate import Evaluator
from contrastive_jax.training.metrics_log import MetricsLog
from contrastive_jax.training.shapes import train_batch_shapes
from contrastive_jax.training.state import state_shapes
from contrastive_jax.training.step import METRICS, jit_train_step
from contrastive_jax.training.warm_start import warm_started


def train(config, workdir, overrides=None, quiet=False, allowed=()):
    """Trains a config in a workdir, from where the workdir stands, and evaluates.

    The same call continues an interrupted run to bit-identical parameters; a finished run is
    only read. Of several processes (`hosts.join`) all make the same call, on a workdir that all of
    them see; the first one prints and writes all but the checkpoints.

    Args:
      config: a ConfigDict; `training.build.check_fields` lists its fields.
      workdir: a directory for config.json, metrics.jsonl, checkpoints and TensorBoard events, or a
        place in a bucket, gs://bucket/path.
      overrides: dict of dotted field to value, recorded beside the config.
      quiet: leaves out the sentences and shows the progress bar alone.
      allowed: dotted fields of the config that may differ from those of an interrupted or finished
        run, which then goes on with the new ones.

    Returns:
      The final evaluation as a dict of floats, with its `step`, the `seconds` of this call, and the
      `train_loss`, mean of what was logged in the last tenth of the steps.

    Raises:
      BadInput: a config or workdir that cannot be, before anything compiles.
      RunFailed: a loss or gradient that is not finite, or a save that failed; the last good
        checkpoint is kept. Of several processes all raise it, but for a `hosts.ProcessLost`: this
        one failed, with whatever error, and others may be gone or wait.
      Preempted: SIGTERM came; the step that was done then is saved.
    """
    started = time.monotonic()
    say = silent if quiet or not hosts.is_first() else speak
    check_fields(config)
    hosts.check_joined()
    hosts.check_same([str(workdir), workdirs.plain(config)], 'The config or the workdir')
    hosts.together(storage.path, workdir)  # a bucket must answer on every host
    claim = (workdirs.claim, workdir, config, overrides or {}, allowed)
    if hosts.on_first(workdirs.is_run, workdir):
        hosts.on_first(*claim)
        if row := hosts.on_first(workdirs.final_row, workdir):
            say(f'{workdir}: finished before, at step {row["step"]}; nothing to do.')
            return row
    experiment = hosts.together(build, config)
    if not hosts.on_first(workdirs.is_run, workdir):
        # Before it becomes a run: whatever cannot be taken over.
        hosts.together(warm_started, state_shapes(experiment), config, experiment.mesh)
    hosts.on_first(*claim)
    with workdirs.named_in_errors(workdir, BadInput):
        checkpoints = Checkpoints(workdir)
    lost = False
    try:
        with (
            hosts.losses_named(),
            jax.set_mesh(experiment.mesh),
            preemption.watching() as preempted,
        ):
            with workdirs.named_in_errors(workdir, BadInput):
                run = Run(config, workdir, experiment, checkpoints, preempted, say)
            alone = jax.process_count() == 1
            kind = RunFailed if alone else hosts.ProcessLost
            with workdirs.named_in_errors(workdir, kind, run.kept):
                return run.finish(started)
    except hosts.ProcessLost:
        lost = True
        raise
    finally:
        if not lost:  # closing would wait for the others
            checkpoints.close()


class Run:
    """One run: its compiled steps, its state, its log.

    Args:
      config: a ConfigDict.
      workdir: a claimed directory.
      experiment: what `build` made of the config.
      checkpoints: those of the workdir.
      preempted: a `preemption.Preemption`.
      say: prints a sentence, or does not.
    """

    def __init__(self, config, workdir, experiment, checkpoints, preempted, say):
        self.say = say
        self.config = config
        self.workdir = workdir
        self.experiment = experiment
        self.checkpoints = checkpoints
        self.preempted = preempted
        self.evaluator = Evaluator(experiment, preempted, warn=say)
        self.tables = self.evaluator.tables['train']
        self.state = self.initial_or_restored_state(workdir)
        self.step = self.saved_step = int(self.state.step)
        self.log = MetricsLog(workdir, self.step, writes=hosts.is_first())
        # Preempted between a step and its evaluation, a run makes up for that first.
        self.evaluated = hosts.on_first(self.was_evaluated, workdir)
        # Metrics of steps not yet looked at, still on the device: looking waits for the step.
        self.pending = []

    def was_evaluated(self, workdir):
        """Whether the log has the evaluation of the step that the run stands at."""
        score = self.experiment.evaluate.score
        return any(row['step'] == self.step and score in row for row in metrics_log.read(workdir))

    def initial_or_restored_state(self, workdir):
        """The state of the newest sound checkpoint, or the one before step 0."""
        step = self.checkpoints.newest_sound(self.say, set_aside=True)
        if step is None:
            # It runs once: on a CPU, optimising it would take four times as long as it saves.
            quickly = {'xla_backend_optimization_level': 0}
            init_state = jax.jit(
                self.experiment.init_state,
                out_shardings=sharding.replicated(self.experiment.mesh),
                compiler_options=quickly if jax.default_backend() == 'cpu' else None,
            )
            state = init_state(self.experiment.seed_key)
            return warm_started(state, self.config, self.experiment.mesh, self.say)
        self.say(f'{workdir}: continues from step {step}.')
        return self.checkpoints.restore(state_shapes(self.experiment), step)

    def finish(self, started):
        """Trains the remaining steps, saves, evaluates; returns the final row."""
        try:
            self.report_data()
            self.train_remaining_steps()
            # The final row marks the run as finished: the final checkpoint must stand by then.
            self.checkpoints.wait()
            row = self.evaluate(started)
            hosts.together(self.sync_log)
            return row
        except Preempted:
            self.save_and_stop()
        finally:
            self.log.close()

    def report_data(self):
        """Prints what the draws of the examples amount to."""
        train, test = self.experiment.train, self.experiment.test
        sizes = f'{len(train.source)} training and {len(test.source)} test examples'
        measured = ', '.join(
            f'{name} {value:.3g}' for name, value in self.evaluator.measured.items()
        )
        self.say(f'{train.source.name}: {sizes}' + (f'; {measured}' if measured else ''))

    def train_remaining_steps(self):
        """Steps until num_steps, logging, evaluating and saving at their intervals."""
        config, last = self.config, self.config.num_steps
        if self.step >= last:
            return
        self.refresh()  # if a run was interrupted in it
        if self.step and due(self.step, config.evaluate_every) and not self.evaluated:
            self.evaluate()
        train_step = self.compile_train_step()
        feed = self.feed()
        rate = Rate(self.step)
        bar = tqdm(
            total=last, initial=self.step, unit='step', mininterval=1.0,
            disable=not hosts.is_first(),
        )  # fmt: skip
        with bar:
            while self.step < last:
                self.preempted.check()
                batch = sharding.to_devices(next(feed), self.experiment.mesh)
                self.state, metrics = train_step(
                    self.state, batch, self.tables, self.experiment.seed_key
                )
                self.step += 1
                self.pending.append(metrics)
                self.checkpoints.poll()
                bar.update(1)
                at_end = self.step == last
                if at_end or due(self.step, config.log_every):
                    newest = self.check_finite()
                    per_second = rate.since_last(self.step) * config.batch_size
                    self.log.write(self.step, {'images_per_second': per_second, **newest})
                    bar.set_postfix_str(f'{per_second:,.0f} images/s, loss {newest["loss"]:.3f}')
                self.refresh()
                # Evaluated before it is saved: a run that continues from a checkpoint has the
                # rows of every step up to it.
                score = None
                if due(self.step, config.evaluate_every) and not at_end:
                    self.check_finite()
                    score = self.evaluate()[self.experiment.evaluate.score]
                    rate.restart(self.step)
                if at_end or due(self.step, config.checkpoint_every):
                    self.save(score)

    def refresh(self):
        """What the objective does to its memory after this step, unless it was done."""
        if self.experiment.refresh:
            with self.preempted.interruptible():
                try:
                    memory = self.experiment.refresh(
                        self.state.memory, self.step, self.preempted.on_first
                    )
                except ValueError:
                    self.check_finite()  # if that is why, it says so
                    raise
            self.state = self.state._replace(memory=memory)

    def sync_log(self):
        """Returns when the rows are in the workdir; raises RunFailed if they cannot be."""
        with workdirs.named_in_errors(self.workdir, RunFailed, self.kept):
            self.log.sync()

    def save(self, score=None):
        """Saves the state in the background, with the score of its evaluation if there is one."""
        self.check_finite()
        hosts.together(self.sync_log)  # so that no checkpoint lacks rows before it
        self.checkpoints.save(self.step, self.state, score)
        self.saved_step = self.step

    def save_and_stop(self):
        """Saves the step that was done when SIGTERM came, and raises Preempted saying so."""
        if self.step == 0:
            raise Preempted('SIGTERM came before step 1: there was nothing to save.') from None
        if self.saved_step != self.step:
            self.save()
        self.checkpoints.wait()
        raise Preempted(
            f'SIGTERM came: step {self.step} is saved, and the same command goes on from there.'
        ) from None

    def compile_train_step(self):
        """The compiled train step; ahead of the loop, so that the rate is of training alone."""
        started = time.monotonic()
        shapes = train_batch_shapes(self.experiment, self.config.batch_size)
        lowered = jit_train_step(self.experiment).lower(
            self.state, shapes, self.tables, self.experiment.seed_key
        )
        compiled = lowered.compile()
        seconds, devices = time.monotonic() - started, self.experiment.mesh.size
        self.say(f'compiled in {seconds:.1f} s for {devices} device(s)')
        return compiled

    def feed(self):
        """The share of this host of the batches from the current step on."""
        orders = self.experiment.train_orders(
            self.evaluator.classes() if self.experiment.pairing else None
        )
        return batches.iterate(orders, self.step)

    def check_finite(self):
        """The newest metrics, after making sure that no step since the last look went wrong."""
        fetched = jax.device_get(self.pending)
        if not fetched:  # nothing since the state was restored
            return {}
        first = self.step - len(fetched) + 1
        self.pending = self.pending[-1:]
        for step, metrics in enumerate(fetched, first):
            for name in METRICS:
                if not math.isfinite(metrics[name]):
                    self.fail(step, name, metrics[name])
        return fetched[-1]

    def fail(self, step, name, value):
        """Stops the run, naming the first bad step and the last good checkpoint."""
        raise RunFailed(f'The {name} is {value} at step {step}. {self.kept()}')

    def kept(self):
        """Where the run can go on from, as a sentence."""
        kept = self.checkpoints.latest_step
        return 'No checkpoint was made before.' if kept is None else f'Step {kept} is kept.'

    def evaluate(self, run_started=None):
        """Embeds both splits, measures, logs one row and returns it.

        Args:
          run_started: when the run began, for the final row, which says how long it took.
        """
        started = time.monotonic()
        try:
            with self.preempted.interruptible():
                evaluation = self.experiment.evaluate.at(self.state)
                results = self.evaluator(self.state.variables, evaluation)
        except BadInput as error:  # the options were checked before: it is the embeddings
            raise RunFailed(f'The evaluation at step {self.step} failed: {error}') from error
        if run_started is not None:
            results |= hosts.on_first(self.last_losses)
            results['seconds'] = time.monotonic() - run_started
        row = self.log.write(self.step, results)
        of = self.experiment.evaluate
        middle, low, high = (results[of.score + end] for end in ('', '_low', '_high'))
        others = ''.join(
            f', {name} {row[f"{of.score}_{name}"]:.3f}' for name in of.readings if name
        )
        self.say(
            f'step {self.step}: {of.name} of {of.factor}: {of.score.replace("_", " ")} '
            f'{middle:.3f} [{low:.3f}, {high:.3f}]{others} '
            f'(evaluated in {time.monotonic() - started:.1f} s)'
        )
        return row

    def last_losses(self):
        """{'train_loss': mean of what was logged in the last tenth of the steps}, if anything."""
        rows = metrics_log.read(self.workdir)
        last = [row['loss'] for row in rows if 'loss' in row and row['step'] > 0.9 * self.step]
        return {'train_loss': sum(last) / len(last)} if last else {}


class Rate:
    """Steps a second between two looks at it."""

    def __init__(self, step):
        self.restart(step)

    def restart(self, step):
        """Counts from now: the time since the last look was spent on something else."""
        self._time, self._step = time.monotonic(), step

    def since_last(self, step):
        """Steps a second since the last look."""
        per_second = (step - self._step) / (time.monotonic() - self._time)
        self.restart(step)
        return per_second


def due(step, every):
    """Whether something done every so many steps is due; never when `every` is 0."""
    return every > 0 and step % every == 0


def speak(sentence):
    """Prints one line without tearing the progress bar."""
    tqdm.write(sentence, file=sys.stdout)
    sys.stdout.flush()


def silent(sentence):
    """Prints nothing."""
