"""`config.evaluation` becomes a protocol, what it reads, and from how many passes."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from contrastive_jax import names
from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import protocols
from contrastive_jax.training import shapes
from contrastive_jax.training.fields import check_number
from contrastive_jax.training.objectives import ONLINE_PROBE
from contrastive_jax.training.sections import bind_section, options_of

LATENTS = 'latents'

# What of `config.evaluation` is no option of a protocol.
OWN = ('factor', 'passes')


class Evaluation(NamedTuple):
    """What is measured of an encoder.

    Attributes:
      name: of the protocol.
      options: of it, as the config has them.
      bind: (options) -> (train, train read, test, test read) -> dict of floats.
      factor: what is read by default: one of the dataset's factors, or LATENTS.
      passes: 0 embeds the training images at rest; otherwise so many times, in views drawn as in
        training, and the protocol takes all of them.
      probe: the run's `OnlineProbe`, or None.
      online: None, or (test embeddings) -> dict of floats: what the probe reads at some state.
    """

    name: str
    options: Mapping[str, Any]
    bind: Callable
    factor: str
    passes: int = 0
    probe: Any = None
    online: Callable | None = None

    def __call__(self, *sets):
        """What the protocol reads of (train, train read, test, test read)."""
        return self.bind(self.options)(*sets)

    def at(self, state):
        """The evaluation of a `TrainState`, with the online probe that it holds, if any."""
        if not self.probe:
            return self
        classifier = state.beside['params'][ONLINE_PROBE]
        return self._replace(online=functools.partial(self.probe.measure, classifier))

    @property
    def score(self):
        """The name of the score, as `protocols.score_of`."""
        return protocols.score_of(self.name)

    def reads(self, factor=None):
        """The name that `embed_split` gives to what is read: a factor, or the latents."""
        factor = factor or self.factor
        return LATENTS if factor == LATENTS else f'factor_{factor}'


def bind_evaluation(section):
    """What `config.evaluation` describes, once the data are known.

    Args:
      section: `config.evaluation`: the protocol's name and options, and of OWN what it has.

    Returns:
      (dataset) -> `Evaluation`, of the `ProbingDataset` to train on. It raises BadInput for a
      factor that the dataset lacks, or latents where there are none.

    Raises:
      BadInput: no such protocol, an option that it has not, or passes that it does not take.
    """
    name, passes = section.get('name'), section.get('passes', 0)
    reads_latents = name in protocols.READ_LATENTS

    def bind(options, groups=None):
        named = {**({'name': name} if name else {}), **options}
        supplied = {'groups': groups or None} if reads_latents else None
        return bind_section(protocols, named, 'evaluation', supplied=supplied)

    options = options_of(section, 'name', *OWN)
    bind(options)
    check_number('evaluation.passes', passes, least=0, whole=True)
    if passes and name not in protocols.TAKE_PASSES:
        raise BadInput(
            f'config.evaluation.passes is {passes}, but {name} takes one pass, at rest; those that '
            f'take several: {", ".join(protocols.TAKE_PASSES)}.'
        )

    def of_dataset(dataset):
        if reads_latents:
            factor = check_latents(dataset, section)
        else:
            factor = check_factor(dataset, section.get('factor', 'label'), 'evaluation.factor')
        own_bind = functools.partial(bind, groups=dataset.latent_groups)
        return Evaluation(name, options, own_bind, factor, passes)

    return of_dataset


def check_factor(dataset, name, field):
    """The name, if it is a factor of the dataset; BadInput otherwise."""
    if name not in dataset.factors:
        known = ', '.join(dataset.factors) or 'none'
        readers = ', '.join(protocols.READ_LATENTS)
        others = f' Its latents are real numbers, which {readers} reads.'
        raise BadInput(
            f'config.{field} is {name!r}; the factors of this data set are: {known}.'
            + names.nearest(name, dataset.factors)
            + others * (not dataset.factors and LATENTS in shapes.composed_shapes(dataset))
        )
    return name


def check_asked(evaluation, dataset, factor):
    """Raises BadInput unless an evaluation can read a factor other than its own."""
    if evaluation.factor == LATENTS:
        raise BadInput(f'factor is {factor!r}, but {evaluation.name} reads the latents.')
    check_factor(dataset, factor, 'evaluation.factor')


def check_latents(dataset, section):
    """LATENTS, if the dataset has some and the config asks for no factor; BadInput otherwise."""
    if LATENTS not in shapes.composed_shapes(dataset):
        raise BadInput(
            f'config.evaluation.name is {section["name"]!r}, which reads real-valued latents; this '
            f'data set has none, but the factors: {", ".join(dataset.factors)}.'
        )
    if 'factor' in section:
        raise BadInput(
            f'config.evaluation.factor is {section["factor"]!r}, but {section["name"]} reads the '
            'latents: leave it out.'
        )
    return LATENTS


def check_evaluation(experiment):
    """Tries the evaluation on a few rows of noise, so that a bad option is an early sentence.

    What depends on the number of rows is held against that of the data; see `protocols.rehearsal`.

    Args:
      experiment: a `build.Experiment`.
    """
    evaluation = experiment.evaluate
    counts = [len(dataset.source) for dataset in (experiment.train, experiment.test)]
    features = shapes.output_shapes(experiment.model, experiment.image_shape)[0]
    generator, sets = np.random.default_rng(0), []
    for count in counts:
        few = min(count, protocols.FEW)
        sets += [generator.normal(size=(few, 2)), np.arange(few) % 2]
        if evaluation.factor == LATENTS:
            latents = shapes.composed_shapes(experiment.train)[LATENTS].shape
            sets[-1] = generator.normal(size=(few, *latents))
    try:
        options = protocols.rehearsal(
            evaluation.name, evaluation.options, train_rows=counts[0], test_rows=counts[1],
            features=features,
        )  # fmt: skip
        evaluation.bind(options)(*sets)
    except (ValueError, TypeError) as error:
        reason = ' '.join(str(error).split())
        raise BadInput(f'config.evaluation cannot be used: {reason}') from error
