"""From a config to functions: the one place where names become functions.

Training, evaluation and whatever compiles a config without running it all build through here, so
that what is checked is what trains. Everything is validated before anything compiles.
"""

import functools
from types import MappingProxyType
from typing import Any, NamedTuple

import jax

from contrastive_jax import names, sharding
from contrastive_jax.data import batches, sources
from contrastive_jax.errors import BadInput
from contrastive_jax.training import accumulation, feed, optimizers, shapes, state, step
from contrastive_jax.training.beside import with_own_rates
from contrastive_jax.training.bind_data import (
    bind_probing,
    check_shapes_of_others,
    open_negatives,
    open_others,
    opened_once,
    pairing_factors,
)
from contrastive_jax.training.bind_evaluation import (
    bind_evaluation,
    check_evaluation,
)
from contrastive_jax.training.bind_loss import bind_loss, bind_objective
from contrastive_jax.training.bind_views import bind_model, bind_views, shows_whole
from contrastive_jax.training.embed_step import make_embed_step
from contrastive_jax.training.image_measures import (
    ImageMeasures,
    check_measures,
    image_measures,
)
from contrastive_jax.training.online_probe import with_online_probe
from contrastive_jax.training.sections import bind_section

# Every config has these fields at the top.
SECTIONS = ('data', 'views', 'model', 'loss', 'optimizer', 'evaluation')
NUMBERS = ('seed', 'num_steps', 'batch_size', 'log_every', 'checkpoint_every', 'evaluate_every')
# And these where the loss or the run asks for them.
OPTIONAL = ('memory', 'target', 'decoder', 'init_from', 'online_probe', 'measure')


class Experiment(NamedTuple):
    """A config made of functions and data.

    Attributes:
      mesh: the devices.
      train: the `ProbingDataset` to train on.
      test: the `ProbingDataset` held out.
      view: (key, image) -> image.
      resting_view: image -> image, the view with nothing drawn.
      model: a Linen module.
      init_state: (seed_key) -> TrainState, not jitted.
      train_step: (state, batch, tables, seed_key) -> (state, metrics), not jitted.
      negatives: None, or the `ProbingDataset` that all negatives come from.
      embed_steps: for each split (variables, batch, tables, split_key) -> dict, not jitted.
      evaluate: a `bind_evaluation.Evaluation`, (train embeddings, train labels, test embeddings,
        test labels) -> dict of floats.
      others: dict of each `data` that a reading of the evaluation has of its own to this
        experiment with those data in the place of `train` and `test`.
      pairing: the factors whose values the two sides of a pair share; () pairs two views of one
        example.
      train_orders: (classes) -> the batches of the run, as `data.batches.iterate` joins them; see
        `feed.bind_orders`.
      crop_ranges: None, or of the crops that the host makes; then batches hold the second crop of
        each image as rows of their own.
      seed_key: the key of the config's seed.
      image_shape: (h, w, c) of what the model sees.
      refresh: None, or what the objective does to its memory between two steps, on the host.
      measures: an `ImageMeasures`, of what is measured beside the evaluation.
    """

    mesh: Any
    train: Any
    test: Any
    view: Any
    resting_view: Any
    model: Any
    init_state: Any
    train_step: Any
    negatives: Any
    embed_steps: Any
    evaluate: Any
    pairing: tuple[str, ...]
    train_orders: Any
    crop_ranges: Any
    seed_key: Any
    image_shape: Any
    refresh: Any = None
    others: Any = MappingProxyType({})
    measures: Any = ImageMeasures()

    @property
    def factor(self):
        """The one of the dataset's factors that evaluation reads, or 'latents'."""
        return self.evaluate.factor

    @property
    def crops_on_host(self):
        """Whether the host makes the crops."""
        return self.crop_ranges is not None

    @property
    def train_tables(self):
        """What the train step looks up."""
        others = {'negatives': dict(self.negatives.tables)} if self.negatives else {}
        return {**self.train.tables, **others}


def check_fields(config):
    """Raises BadInput unless the config has the top-level fields of every config and no unknown."""
    valid = {*SECTIONS, *NUMBERS, *OPTIONAL}
    for name in config:
        if name not in valid:
            raise BadInput(
                f'config.{name} is not a field of a config, which has: '
                f'{", ".join(sorted(valid))}.' + names.nearest(name, valid)
            )
    for name in (*SECTIONS, *NUMBERS):
        if name not in config:
            raise BadInput(f'config.{name} is missing.')
    for name in NUMBERS:
        least = 1 if name in ('batch_size', 'log_every') else 0
        if config[name] < least:
            raise BadInput(f'config.{name} is {config[name]}; it must be at least {least}.')
    if config.seed >= 2**32:
        raise BadInput(f'config.seed is {config.seed}; it must be below 2**32.')


def build(config, mesh=None, around=lambda optimizer: optimizer, open_source=sources.open_source):
    """Everything a run needs, from a config.

    Args:
      config: a ConfigDict with the fields of `check_fields`.
      mesh: the devices; all of them by default.
      around: what is put around the optimizer, such as `certificate.remembering`.
      open_source: (name, split, data_dir, field) -> source: another one compiles without the data.

    Returns:
      An `Experiment`.

    Raises:
      BadInput: any name, option, size or path of the config that cannot be; the whole train step
        is traced for shapes, so that no such error waits for the compiler.
    """
    check_fields(config)
    mesh = mesh or sharding.data_mesh()
    sharding.check_batch(config.batch_size, mesh)
    view, resting_view = bind_views(config.views)
    loss = bind_loss(config.loss)
    optimizer = bind_section(
        optimizers,
        config.optimizer,
        'optimizer',
        # A run of no steps is the evaluation of an encoder that is not trained.
        supplied={'num_steps': max(1, config.num_steps), 'batch_size': config.batch_size},
        taken=('accumulate',),
    )()
    optimizer = around(optimizer)
    accumulate = config.optimizer.get('accumulate', 1)
    accumulation.check_micro_batches(accumulate, config.batch_size, mesh.size)
    evaluation_of = bind_evaluation(config.evaluation)
    open_source = opened_once(open_source)
    make_dataset = bind_probing(config.data, open_source)
    train, test = (make_dataset(split) for split in sources.SPLITS)
    others = open_others(config, open_source)
    evaluate = evaluation_of({'': train, **{name: pair[0] for name, pair in others.items()}})
    pairing = pairing_factors(config.data, train)
    batches.check_batch(train.source, config.batch_size, jax.process_count())
    negatives = open_negatives(config, train, open_source)
    train_orders, crop_ranges = feed.bind_orders(config, train, negatives)
    image_shape = shapes.seen_shape(train, resting_view)
    check_shapes_of_others(others, train, resting_view, image_shape)
    module = bind_model(config, train, image_shape)
    outputs = functools.partial(shapes.output_shapes, module, image_shape)
    objective = bind_objective(config, train, image_shape, outputs)
    objective = with_online_probe(objective, config, train, outputs)
    optimizer = with_own_rates(optimizer, objective.beside)

    def embed_steps(*pair):
        return {
            split: make_embed_step(dataset=dataset, view=resting_view, model=module)
            for split, dataset in zip(sources.SPLITS, pair, strict=True)
        }

    experiment = Experiment(
        mesh=mesh,
        train=train,
        test=test,
        view=view,
        resting_view=resting_view,
        model=module,
        init_state=lambda seed_key: state.init_state(
            module, optimizer, image_shape, seed_key, objective
        ),
        train_step=step.make_train_step(
            dataset=train,
            view=view,
            model=module,
            loss=loss,
            optimizer=optimizer,
            objective=objective,
            negatives=negatives,
            accumulate=accumulate,
        ),
        negatives=negatives,
        embed_steps=embed_steps(train, test),
        evaluate=evaluate._replace(probe=objective.probe),
        pairing=pairing,
        train_orders=train_orders,
        crop_ranges=crop_ranges,
        seed_key=jax.random.key(config.seed),
        image_shape=image_shape,
        refresh=objective.refresh,
        measures=names.bind(image_measures, config.get('measure') or {}, 'measure')(),
    )
    others = {
        name: experiment._replace(
            train=pair[0],
            test=pair[1],
            embed_steps=embed_steps(*pair),
            negatives=None,
            measures=ImageMeasures(),
        )
        for name, pair in others.items()
    }
    experiment = experiment._replace(others=others)
    shapes.check_shapes(experiment, config.batch_size)
    check_evaluation(experiment)
    check_measures(experiment, whole=shows_whole(config.views))
    return experiment
