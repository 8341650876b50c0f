"""`config.data` becomes probing datasets, and with it whatever else a run reads."""

import inspect

from ml_collections import ConfigDict

from contrastive_jax import losses, names
from contrastive_jax.data import batches, probing, sources
from contrastive_jax.errors import BadInput
from contrastive_jax.training import shapes
from contrastive_jax.training.bind_evaluation import check_factor, data_name, readings_of
from contrastive_jax.training.bind_loss import two_view_losses
from contrastive_jax.training.sections import options_of

# Options of a probing dataset that name another source.
SOURCE_OPTIONS = ('digits', 'backgrounds')
# What of `config.data` is no option of a probing dataset but of training alone.
OF_TRAINING = ('pairing', 'negatives', 'shuffle')


def bind_probing(section, open_source=sources.open_source):
    """The probing dataset that `config.data` names, as (split, source) -> ProbingDataset.

    The source is that of `config.data` unless another is given.
    """
    for name in ('source', 'data_dir', 'probing'):
        if name not in section:
            raise BadInput(f'config.data.{name} is missing.')
    function = names.pick(probing, section.probing, 'data.probing')
    options = options_of(section, 'source', 'data_dir', 'probing', *OF_TRAINING)
    # Before any source is opened, which may take long.
    names.bind(function, options, 'data', supplied=('split',))
    takes_split = 'split' in inspect.signature(function).parameters

    def make(split, source=section.source, field='data.source'):
        opened = {
            name: open_source(options[name], split, section.data_dir, f'data.{name}')
            for name in SOURCE_OPTIONS
            if options.get(name)
        }
        source = open_source(source, split, section.data_dir, field)
        given = {'split': split} if takes_split else {}
        try:
            return function(source, **{**options, **opened, **given})
        except TypeError as error:  # a number where a name should be, or the other way round
            shown = ', '.join(f'{name}={value!r}' for name, value in options.items())
            raise BadInput(
                f'config.data has an option of a wrong type for {section.probing!r} among '
                f'{shown}: {error}.'
            ) from error

    return make


def opened_once(open_source):
    """The same, (name, split, data_dir, field) -> source, but no source is opened twice."""
    opened = {}

    def open_or_find(name, split, data_dir, field):
        key = repr((name, split, data_dir))
        if key not in opened:
            opened[key] = open_source(name, split, data_dir, field)
        return opened[key]

    return open_or_find


def open_others(config, open_source):
    """What an evaluation reads beside `config.data`: {data: (train, test)}, see `data_name`.

    Raises:
      BadInput: data that cannot be; the sentence names the field that has them.
    """
    found = {}
    for field, _, own in readings_of(config.evaluation).values():
        name = data_name(own)
        if not name or name in found:
            continue
        for option in OF_TRAINING:
            if option in own:
                raise BadInput(f'config.{field}.data.{option} is of training alone: leave it out.')
        kept = ('source', 'data_dir') if 'probing' in own else options_of(config.data, *OF_TRAINING)
        section = ConfigDict({of: config.data[of] for of in kept if of in config.data} | dict(own))
        try:
            make = bind_probing(section, open_source)
            found[name] = tuple(make(split) for split in sources.SPLITS)
        except BadInput as error:
            raise BadInput(f'config.{field}.data cannot be used: {error}') from error
    return found


def check_shapes_of_others(others, train, resting_view, image_shape):
    """Raises BadInput unless the model sees images of one kind in all data; see `open_others`."""
    for name, (other, _) in others.items():
        if (shape := shapes.seen_shape(other, resting_view)) != image_shape:
            raise BadInput(
                f'config.evaluation reads data ({name}) whose images are of shape {shape} to the '
                f'model; those of config.data are of {image_shape}.'
            )
        if (appended := shapes.appended_channels(other)) != shapes.appended_channels(train):
            raise BadInput(
                f'config.evaluation reads data ({name}) that append channels to an image: '
                f'{appended}; those of config.data append {shapes.appended_channels(train)}, and '
                'they must be as many.'
            )


def pairing_factors(section, train):
    """The factors of `config.data.pairing`, a tuple; BadInput for one that the data lack."""
    pairing = section.get('pairing', ())
    if not isinstance(pairing, str | tuple | list):
        raise BadInput(f"config.data.pairing is {pairing!r}, not factors such as ('label',).")
    pairing = (pairing,) if isinstance(pairing, str) else tuple(pairing)
    for name in pairing:
        check_factor(train, name, 'data.pairing')
    return pairing


def open_negatives(config, train, open_source):
    """The dataset of `config.data.negatives`, composed as the training data are, or None."""
    source = config.data.get('negatives', '')
    if not source:
        return None
    function = names.pick_or_import(losses, config.loss.name, 'loss.name')
    if 'negatives' not in inspect.signature(function).parameters:
        taking = [
            name for name in two_view_losses()
            if 'negatives' in inspect.signature(getattr(losses, name)).parameters
        ]  # fmt: skip
        raise BadInput(
            f'config.data.negatives is {source!r}, but the loss {config.loss.name!r} takes no '
            f'negatives from elsewhere; one that does: {", ".join(taking)}.'
        )
    negatives = bind_probing(config.data, open_source)('train', source, 'data.negatives')
    if negatives.source.image_shape != train.source.image_shape:
        raise BadInput(
            f'config.data.negatives is {source!r}, with images of shape '
            f'{negatives.source.image_shape}; the training images have {train.source.image_shape}.'
        )
    batches.check_batch(negatives.source, config.batch_size)
    return negatives
