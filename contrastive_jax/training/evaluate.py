"""Evaluation of a train state: embed both splits, measure one factor."""

import contextlib
import functools

import jax
import numpy as np

from contrastive_jax import randomness, sharding
from contrastive_jax.data import batches
from contrastive_jax.data.probing.pixels import made_of_pixels
from contrastive_jax.errors import BadInput, Preempted
from contrastive_jax.evaluation.collapse import alpha_req, collapse_indicators, collapse_warning
from contrastive_jax.evaluation.uniformity import uniformity
from contrastive_jax.training import bind_evaluation, embedding, hosts, preemption
from contrastive_jax.training.embed_step import make_pass_step
from contrastive_jax.training.image_measures import ImageMeasures
from contrastive_jax.training.measuring import measurement
from contrastive_jax.training.restore import restored_run
from contrastive_jax.training.step import compose

# What is logged of a collapse, and of how many rows: a direction that they lack is hardly in use.
COLLAPSE = ('deviation', 'effective_rank', 'rankme', 'alpha_req', 'uniformity')
COLLAPSE_ROWS = 10_000


class Evaluator:
    """Measures the encoder of an experiment; compiled once for each split, used at any state.

    Args:
      experiment: a `build.Experiment`.
      preempted: a `preemption.Preemption`, which may leave the evaluation.
      warn: called with a sentence where the embeddings have collapsed.
    """

    def __init__(self, experiment, preempted=None, warn=lambda sentence: None):
        self.experiment = experiment
        self.warn = warn
        self.preempted = preempted or preemption.unwatched()
        # Each split composes by itself: how many digits there are to draw is its own affair.
        self._embed_steps = {
            split: embedding.jit_embed_step(experiment, step)
            for split, step in experiment.embed_steps.items()
        }
        # What the datasets look up, whole on every device.
        whole = sharding.replicated(experiment.mesh)
        self.tables = {
            split: jax.device_put(dict(tables), whole)
            for split, tables in (
                ('train', experiment.train_tables),
                ('test', experiment.test.tables),
            )
        }
        self.measurement = measurement(experiment, self.preempted.check)
        self.others = {
            name: Evaluator(other, preempted, warn) for name, other in experiment.others.items()
        }

    def embed(self, variables, split):
        """The embeddings, projections, factors, labels and ids of a split; see `embed_split`."""
        return embedding.embed_by(
            self.experiment,
            self._embed_steps[split],
            variables,
            split,
            tables=self.tables[split],
            check=self.preempted.check,
        )

    def embed_train(self, variables, passes=0):
        """As `embed` of the training split; of several passes `embeddings` are [v, n, d].

        Args:
          variables: of the model.
          passes: v, each in a view of its own of every image, drawn as in training; 0 is at rest.
        """
        if not passes:
            return self.embed(variables, 'train')
        found = [
            embedding.embed_by(
                self.experiment,
                self._pass_step,
                variables,
                'train',
                source=embedding.cropped(self.experiment, 'train', crops=1, number=1 + number),
                number=number,
                tables=self.tables['train'],
                check=self.preempted.check,
            )
            for number in range(passes)
        ]
        return {**found[0], 'embeddings': np.stack([rows['embeddings'] for rows in found])}

    @functools.cached_property
    def _pass_step(self):
        """Compiled once for all passes."""
        of = self.experiment
        step = make_pass_step(dataset=of.train, view=of.view, model=of.model)
        return embedding.jit_embed_step(of, step)

    def classes(self):
        """An integer for each training example [n]: equal where `pairing`'s factors are.

        Images are read for factors that are made of pixels alone; then those that turn out to be
        damaged are a class of their own.
        """
        dataset, pairing = self.experiment.train, self.experiment.pairing
        source = dataset.source
        if not made_of_pixels(dataset) & {*pairing}:
            source = Unread(source)
        factors_of = jax.jit(
            lambda batch, tables, key: {
                name: compose(dataset, batch, tables, key)[name] for name in pairing
            },
            out_shardings=sharding.replicated(self.experiment.mesh),
        )
        key = randomness.key_for(self.experiment.seed_key, randomness.Role.TRAIN_EXAMPLES)
        found = np.full((len(source), len(pairing)), -1)
        for batch in batches.evaluation_batches(source, batch_size=1000):
            real = batch.pop('weight') > 0
            factors = jax.device_get(factors_of(batch, self.tables['train'], key))
            found[batch['id'][real]] = np.stack(list(factors.values()), axis=1)[real]
        return np.unique(found, axis=0, return_inverse=True)[1].reshape(-1)

    def __call__(self, variables, evaluation, factor=None):
        """What a protocol reads from the features h: factors, or the latents.

        Args:
          variables: the model's, as `TrainState.variables`; read only.
          evaluation: a `bind_evaluation.Evaluation`.
          factor: that the score is of, in place of its own; then nothing else is read.

        Returns:
          dict of floats: the protocol's of each reading, see `Evaluation.named`; what the dataset
          measures of its draws; and of h and z of the test examples of the score the COLLAPSE
          indicators.
        """
        found = {}
        # One after the other: of large data the embeddings of one alone find room.
        by_data = evaluation.by_data(factor)
        if self.experiment.measures != ImageMeasures():
            by_data.setdefault('', {})
        for data, readings in by_data.items():
            own = self.others[data] if data else self
            found |= own.read(variables, evaluation, readings, of_training=not data)
        return found | self.measured

    def read(self, variables, evaluation, readings, *, of_training):
        """What a protocol reads of the data of this evaluator.

        Args:
          variables: as above.
          evaluation: as above.
          readings: dict of a name to a `bind_evaluation.Reading`.
          of_training: whether these are `config.data`, which the online probe reads, if any.
        """
        wanted = readings or self.experiment.measures.colour_bins
        train = self.embed_train(variables, evaluation.passes) if wanted else {}
        test = self.embed(variables, 'test')
        of_images = self.measurement(variables)

        def measured():
            found = {}
            for name, reading in readings.items():
                sets = [rows[of] for rows in (train, test) for of in ('embeddings', reading.name)]
                found |= evaluation.named(evaluation(*sets), name)
            if of_training and evaluation.online:
                found |= evaluation.online(test)
            found |= of_images(train.get('embeddings'), test['embeddings'])
            return found | (self.collapse(test) if '' in readings else {})

        # Where hosts round differently the first one's word counts: they must go on as one.
        return self.preempted.on_first(measured)

    def collapse(self, test):
        """Indicators of collapse of h and z, {'h_effective_rank': ...}; warns where they have."""
        found = {}
        for name, rows in (('h', test['embeddings']), ('z', test['projections'])):
            indicators = collapse_indicators(rows[:COLLAPSE_ROWS])
            indicators['uniformity'] = uniformity(rows[:COLLAPSE_ROWS])
            with contextlib.suppress(BadInput):  # too few dimensions in use to fit a slope
                indicators['alpha_req'] = alpha_req(rows[:COLLAPSE_ROWS])
            found |= {
                f'{name}_{indicator}': indicators[indicator]
                for indicator in COLLAPSE if indicator in indicators
            }  # fmt: skip
            if sentence := collapse_warning(indicators):
                self.warn(f'warning: {name}: {sentence}')
        return found

    @functools.cached_property
    def measured(self):
        """What the probing dataset measures of the draws of its training examples."""
        dataset = self.experiment.train
        key = randomness.key_for(self.experiment.seed_key, randomness.Role.TRAIN_EXAMPLES)
        ids = np.arange(len(dataset.source), dtype=np.int32)
        return dataset.measure(randomness.keys_for_examples(key, ids))


class Unread:
    """The labels and ids of a source beside zeros for images, none of which is read.

    Args:
      source: any source.
    """

    def __init__(self, source):
        self.source = source

    def __len__(self):
        return len(self.source)

    def take(self, ids):
        """As `take` of the source; the zeros of all images are one byte of memory."""
        return {
            'image': np.broadcast_to(np.uint8(0), (len(ids), *self.source.image_shape)),
            'label': self.source.labels[ids].astype(np.int32),
            'id': np.asarray(ids, np.int32),
        }


def evaluate_workdir(path, *, step=None, protocol=None, factor=None):
    """One measurement of a checkpoint.

    Args:
      path: the directory of a run, or its gs://bucket/path.
      step: of the checkpoint; the newest by default.
      protocol: dict of `name` and options, as `config.evaluation`; the run's own by default.
      factor: one of the dataset's factors; that of the run by default.

    Returns:
      dict of floats, with the `step`.

    Raises:
      BadInput: no run, no checkpoint, or an unknown protocol or factor.
      RunFailed: the directory or bucket cannot be read.
      Preempted: SIGTERM came.
    """
    hosts.check_joined()
    hosts.check_same([str(path), step, protocol, factor], 'What is to be evaluated')
    experiment, restored = restored_run(path, step=step, evaluation=protocol)
    if factor is not None:
        bind_evaluation.check_asked(experiment, factor)
    try:
        with (
            jax.set_mesh(experiment.mesh),
            preemption.watching() as preempted,
            preempted.interruptible(),
        ):
            evaluator = Evaluator(experiment, preempted)
            results = evaluator(restored.variables, experiment.evaluate.at(restored), factor)
    except Preempted:
        raise Preempted(f'SIGTERM came while {path} was evaluated: nothing is written.') from None
    return {'step': int(restored.step), **results}
