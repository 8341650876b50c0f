"""`config.loss` becomes a function of arrays, and an objective that supplies them."""

import inspect

from contrastive_jax import losses, names
from contrastive_jax.errors import BadInput
from contrastive_jax.training import bank_objectives, beside, memories, objective_kinds
from contrastive_jax.training.objectives import Setting

# From the first parameters of a loss to what supplies them, and the sections that this reads.
KINDS = {
    ('z1', 'z2'): (objective_kinds.pairs, ()),
    ('anchors', 'positives'): (objective_kinds.pairs, ()),
    ('queries', 'keys', 'queue'): (objective_kinds.momentum_contrast, ('memory', 'target')),
    ('predictions1', 'predictions2', 'targets1', 'targets2'): (
        objective_kinds.bootstrap,
        ('target',),
    ),
    ('anchors', 'bank', 'index'): (bank_objectives.one_bank, ('memory',)),
    ('anchors1', 'anchors2', 'bank1', 'bank2', 'index'): (bank_objectives.two_banks, ('memory',)),
    ('z',): (objective_kinds.one_view, ()),
    ('z', 'labels'): (objective_kinds.labelled_rows, ()),
    ('logits', 'labels'): (objective_kinds.classified, ()),
    ('images', 'reconstructions', 'mean', 'log_variance'): (
        objective_kinds.generative,
        ('decoder',),
    ),
}

# Options that the step supplies, never the config.
SUPPLIED = ('key', 'negatives', *memories.RULES, *(f'{name}s' for name in memories.RULES))


def loss_function(section):
    """The function that `config.loss` names, and the arrays that it takes.

    Args:
      section: `config.loss`, a mapping.

    Returns:
      (function, arrays): the names of its first parameters, a key of KINDS; or two of any names,
      the two views, where the function is the user's own.

    Raises:
      BadInput: no loss of that name, or one that no run supplies with its arrays.
    """
    if 'name' not in section:
        raise BadInput(
            f'config.loss.name is missing; it is one of: {", ".join(trainable_losses())}.'
        )
    function = names.pick_or_import(losses, section['name'], 'loss.name')
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:  # functions written in C
        raise BadInput(f'config.loss.name is {section["name"]!r}: {error}.') from error
    if arrays := arrays_of(function):
        return function, arrays
    own = names.public_name(losses, function)
    positional = [name for name, p in parameters.items() if p.kind is not p.KEYWORD_ONLY]
    if own:
        raise BadInput(
            f'config.loss.name is {own!r}, a function of ({", ".join(positional)}), which no run '
            f'has; it is one of: {", ".join(trainable_losses())}.'
        )
    return function, tuple(positional[:2])


def arrays_of(function):
    """The longest key of KINDS that a function's parameters begin with, or None.

    A single array is a key only where no other one follows: (z, other) may be a user's two views.
    """
    parameters = inspect.signature(function).parameters
    needed = [p for p in parameters.values() if p.default is p.empty]
    several = sum(p.kind is not p.KEYWORD_ONLY for p in needed)
    found = [
        arrays for arrays in KINDS
        if tuple(parameters)[: len(arrays)] == arrays and not len(arrays) == 1 < several
    ]  # fmt: skip
    return max(found, key=len, default=None)


def trainable_losses():
    """The public losses that a run can train on."""
    return [name for name in losses.__all__ if arrays_of(getattr(losses, name))]


def kind_of(arrays):
    """(The objective that feeds a loss of these arrays, the sections of the config it reads)."""
    return KINDS.get(arrays, (objective_kinds.pairs, ()))


def compares_two_views(section):
    """Whether the loss that `config.loss` names compares the projections of two views."""
    return kind_of(loss_function(section)[1])[0] is objective_kinds.pairs


def two_view_losses():
    """The public losses of two views' projections, which take negatives from elsewhere if any."""
    return [n for n in losses.__all__ if arrays_of(getattr(losses, n)) == ('z1', 'z2')]


def bind_loss(section):
    """The loss that `config.loss` names, as (*arrays, key, **options) -> (scalar, parts).

    A user's own, by 'module:function' or as the function itself, may return the scalar alone and
    name two views as it likes. A learned temperature is an option that the step supplies.
    """
    function, arrays = loss_function(section)
    parameters = inspect.signature(function).parameters
    supplied = SUPPLIED
    options = {name: value for name, value in section.items() if name != 'name'}
    if arrays[-1] == 'labels' and 'factor' not in parameters:
        options.pop('factor', None)
    if learned_temperature(section) and 'temperature' in parameters:
        supplied += ('temperature',)
        options.pop('temperature')
    bound = names.bind(function, options, 'loss', supplied=supplied, arrays=len(arrays))

    def loss(*arrays_and_key, **others):
        *arrays, key = arrays_and_key
        drawing = {'key': key} if 'key' in parameters else {}
        result = bound(*arrays, **drawing, **others)
        return result if isinstance(result, tuple) else (result, {})

    return loss


def learned_temperature(section):
    """`config.loss.temperature` as a dict where it is learned, else None."""
    temperature = section.get('temperature')
    return dict(temperature) if hasattr(temperature, 'keys') else None


def bind_objective(config, dataset, image_shape, shapes):
    """The objective of a config's loss.

    Args:
      config: a ConfigDict.
      dataset: the `ProbingDataset` to train on.
      image_shape: (h, w, c) of the views, appended channels included.
      shapes: () -> (f, d, whether the model has batch norm) of its h and z.

    Returns:
      An `Objective`.

    Raises:
      BadInput: a section of the config that the loss does not read, or an option that cannot be.
    """
    function, arrays = loss_function(config.loss)
    kind, sections = kind_of(arrays)
    for name in ('memory', 'target', 'decoder'):
        if config.get(name) and name not in sections:
            raise BadInput(
                f'config.{name} is given, but the loss {config.loss.name!r}, of '
                f'({", ".join(arrays)}), has none: leave it out.'
            )
    setting = Setting(
        function=function,
        loss=dict(config.loss),
        memory=dict(config.get('memory') or {}),
        target=dict(config.get('target') or {}),
        decoder=dict(config.get('decoder') or {}),
        dataset=dataset,
        image_shape=image_shape,
        shapes=shapes,
        num_steps=config.num_steps,
        batch_size=config.batch_size,
        seed=config.seed,
    )
    objective = kind(setting)
    if objective.num_sides == 1 and config.data.get('pairing'):
        raise BadInput(
            f'config.data.pairing is {tuple(config.data.pairing)}, but the loss '
            f'{config.loss.name!r}, of ({", ".join(arrays)}), sees one view of each example.'
        )
    if options := learned_temperature(config.loss):
        objective = with_temperature(objective, options, setting, arrays)
    if config.optimizer.get('accumulate', 1) > 1 and (objective.beside or objective.momentum):
        also = ' and '.join([*objective.beside, *['momentum encoder'] * bool(objective.momentum)])
        raise BadInput(
            f'config.optimizer.accumulate is {config.optimizer.accumulate}, but the loss '
            f'{config.loss.name!r} has a {also} beside the encoder, and micro-batches are of an '
            'encoder alone; it must be 1.'
        )
    return objective


def with_temperature(objective, options, setting, arrays):
    """The objective with a learned temperature, trained beside the encoder."""
    features, dimensions, _ = setting.shapes()
    if 'bank2' in arrays:
        dimensions //= 2
    dimensions = setting.loss.get('num_dimensions', dimensions)
    bound = names.bind(beside.temperature, options, 'loss.temperature')
    made = bound(features, dimensions)

    def supply(seen):
        arrays, others = objective.arrays(seen)
        return arrays, {**others, 'temperature': seen.outputs['temperature']}

    return objective._replace(arrays=supply, beside={**objective.beside, 'temperature': made})
