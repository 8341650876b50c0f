"""`config.evaluation` becomes a protocol, what it reads of which data, and from how many passes."""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from ml_collections import ConfigDict

from contrastive_jax import names
from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import protocols
from contrastive_jax.training import shapes
from contrastive_jax.training.fields import check_number
from contrastive_jax.training.objectives import ONLINE_PROBE
from contrastive_jax.training.sections import bind_section, options_of

LATENTS = 'latents'

# What of `config.evaluation` is no option of a protocol, and what one of its `also` has.
OWN = ('factor', 'data', 'also', 'passes')
OF_READING = ('factor', 'data')


class Reading(NamedTuple):
    """One thing that a protocol reads.

    Attributes:
      factor: one of the factors of its data, or LATENTS.
      data: what the data have in place of `config.data`, by `data_name`; '' for nothing.
    """

    factor: str
    data: str = ''

    @property
    def name(self):
        """What `embed_split` calls what is read: a factor, or the latents."""
        return LATENTS if self.factor == LATENTS else f'factor_{self.factor}'


class Evaluation(NamedTuple):
    """What is measured of an encoder.

    Attributes:
      name: of the protocol.
      options: of it, as the config has them.
      bind: (options) -> (train, train read, test, test read) -> dict of floats.
      readings: dict of a name to a `Reading`, '' being the one of the score; see `named`.
      passes: 0 embeds the training images at rest; otherwise so many times, in views drawn as in
        training, and the protocol takes all of them.
      probe: the run's `OnlineProbe`, or None.
      online: None, or (test embeddings) -> dict of floats: what the probe reads at some state.
    """

    name: str
    options: Mapping[str, Any]
    bind: Callable
    readings: Mapping[str, Reading]
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

    @property
    def factor(self):
        """What the score is of: a factor, or LATENTS."""
        return self.readings[''].factor

    def by_data(self, factor=None):
        """The readings of each data, {data: {name: Reading}}; of a factor, the score's alone."""
        readings = self.readings
        if factor:
            readings = {'': readings['']._replace(factor=factor)}
        found = {'': {}} if self.online else {}  # the online probe reads the data of training
        for name, reading in readings.items():
            found.setdefault(reading.data, {})[name] = reading
        return found

    def named(self, results, name):
        """What a protocol returns under the name of a reading.

        The score of a reading 'small' is `test_accuracy_small`, the ends of its interval
        `test_accuracy_small_low` and `_high`; whatever else is returned ends in `_small`.
        """
        if not name:
            return results
        score = self.score
        return {
            f'{score}_{name}{metric.removeprefix(score)}'
            if metric in (score, f'{score}_low', f'{score}_high')
            else f'{metric}_{name}': value
            for metric, value in results.items()
        }


def bind_evaluation(section):
    """What `config.evaluation` describes, once the data are known.

    Args:
      section: `config.evaluation`: the protocol's name and options, and of OWN what it has.

    Returns:
      (datasets) -> `Evaluation`, of a dict of each `data` of a reading to its training
      `ProbingDataset`. It raises BadInput for a factor that a dataset lacks, or latents where
      there are none.

    Raises:
      BadInput: no such protocol, an option that it has not, passes that it does not take, or as
        `readings_of`.
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

    wanted = readings_of(section)

    def of_datasets(datasets):
        if reads_latents:
            readings = {'': Reading(check_latents(datasets[''], section))}
        else:
            readings = {}
            for reading, (field, factor, data) in wanted.items():
                of = data_name(data)
                check_factor(datasets[of], factor, f'{field}.factor', of)
                readings[reading] = Reading(factor, of)
        own_bind = functools.partial(bind, groups=datasets[''].latent_groups)
        return Evaluation(name, options, own_bind, readings, passes)

    return of_datasets


def readings_of(section):
    """What `config.evaluation` reads: {name: (field, factor, what the data have of their own)}.

    Raises:
      BadInput: a name or a field of `also` that cannot be, or several readings of latents.
    """
    also = section.get('also', {})
    if not isinstance(also, Mapping | ConfigDict):
        raise BadInput(
            f'config.evaluation.also is {also!r}, not sections by name, such as '
            "dict(object=dict(factor='label'))."
        )
    if section.get('name') in protocols.READ_LATENTS:
        for option in OF_READING[1:] + ('also',):
            if section.get(option):
                raise BadInput(
                    f'config.evaluation.{option} is given, but {section["name"]} reads the latents '
                    'of config.data: leave it out.'
                )
    found = {'': ('evaluation', section)}
    for name, own in also.items():
        field = f'evaluation.also.{name}'
        if not re.fullmatch('[a-z0-9_]+', name) or name.endswith(('low', 'high')):
            raise BadInput(
                f'config.{field} has a name that ends the names of metrics: it must be of small '
                "letters, digits and '_', and not end in 'low' or 'high'."
            )
        if not isinstance(own, Mapping | ConfigDict):
            raise BadInput(f"config.{field} is {own!r}, not like dict(factor='label').")
        for option in own:
            if option not in OF_READING:
                raise BadInput(
                    f'config.{field}.{option} is not a field of a reading, which has: '
                    f'{", ".join(OF_READING)}.' + names.nearest(option, OF_READING)
                )
        found[name] = (field, own)
    return {
        name: (field, own.get('factor', 'label'), own.get('data', {}))
        for name, (field, own) in found.items()
    }


def data_name(options):
    """The name of what data have in place of `config.data`; equal where they are equal."""
    plain = options.to_dict() if isinstance(options, ConfigDict) else dict(options)
    return ', '.join(
        f'{name}={tuple(value) if isinstance(value, list) else value!r}'
        for name, value in sorted(plain.items())
    )


def check_factor(dataset, name, field, data=''):
    """The name, if it is a factor of the dataset, that of `data`; BadInput otherwise."""
    if name not in dataset.factors:
        known = ', '.join(dataset.factors) or 'none'
        readers = ', '.join(protocols.READ_LATENTS)
        others = f' Its latents are real numbers, which {readers} reads.'
        raise BadInput(
            f'config.{field} is {name!r}; the factors of this data set '
            + (f'({data}) ' if data else '')
            + f'are: {known}.'
            + names.nearest(name, dataset.factors)
            + others * (not dataset.factors and LATENTS in shapes.composed_shapes(dataset))
        )
    return name


def check_asked(experiment, factor):
    """Raises BadInput unless an experiment's score can be of a factor other than its own."""
    own = experiment.evaluate.readings['']
    if own.factor == LATENTS:
        raise BadInput(f'factor is {factor!r}, but {experiment.evaluate.name} reads the latents.')
    of = experiment.others[own.data] if own.data else experiment
    check_factor(of.train, factor, 'evaluation.factor', own.data)


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
    for data in experiment.evaluate.by_data():
        rehearse(experiment.evaluate, experiment.others[data] if data else experiment)


def rehearse(evaluation, experiment):
    """Tries an evaluation as `check_evaluation` says, on the numbers of rows of an experiment."""
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
