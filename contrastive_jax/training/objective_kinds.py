"""Objectives of two views, a momentum encoder, labels or a decoder: `Setting` to `Objective`."""

import jax.numpy as jnp

from contrastive_jax import losses, names
from contrastive_jax.errors import BadInput
from contrastive_jax.losses.similarities import unit_rows
from contrastive_jax.memory import queue as queues
from contrastive_jax.models.decoder import variational_decoder
from contrastive_jax.training import beside, memories, shapes, targets
from contrastive_jax.training.objectives import PAIRS, Objective


def pairs(setting):
    """Two views; as unit rows for the one public loss of two views that takes them so."""
    if setting.function is not losses.sphere_info_nce:
        return PAIRS
    return Objective(lambda seen: ((unit_rows(seen.z[:, 0]), unit_rows(seen.z[:, 1])), {}))


def one_view(setting):
    """The projections of one view of each example, which the loss spreads or matches."""
    del setting
    return Objective(lambda seen: ((seen.z[:, 0],), {}), num_sides=1)


def momentum_contrast(setting):
    """MoCo, not symmetric: queries are first views, keys are second views. Keys enter the queue."""
    momentum = names.bind(targets.momentum_contrast, setting.target, 'target')(setting.num_steps)
    size = names.bind(memories.queue, setting.memory, 'memory')()

    def keys(seen):
        return unit_rows(seen.targets[:, 0])

    def arrays(seen):
        queue = queues.read(queues.Queue(**seen.memory))
        return (unit_rows(seen.z[:, 0]), keys(seen), queue), {}

    def write(memory, seen):
        return queues.write(queues.Queue(**memory), keys(seen))._asdict()

    return Objective(
        arrays,
        sides=slice(0, 1),
        target_sides=slice(1, 2),
        momentum=momentum,
        init_memory=lambda key: queues.init(key, size, setting.shapes()[1])._asdict(),
        write=write,
    )


def bootstrap(setting):
    """BYOL: a predictor with batch norm where the encoder has it; both views in one pass."""
    bound = names.bind(targets.bootstrap, setting.target, 'target')
    momentum, width = bound(setting.num_steps)
    features, dimensions, batch_norm = setting.shapes()
    predictor = beside.predictor(features, dimensions, width=width, batch_norm=batch_norm)

    def arrays(seen):
        predictions = seen.outputs['predictor'].reshape(seen.z.shape)
        both = [rows[:, side] for rows in (predictions, seen.targets) for side in (0, 1)]
        return tuple(both), {}

    return Objective(arrays, momentum=momentum, beside={'predictor': predictor})


def labelled_rows(setting):
    """Both views of every example as rows of one label, of the factor `config.loss.factor`."""
    factor = labelling_factor(setting)

    def arrays(seen):
        labels = jnp.stack([example[factor] for example in seen.examples], axis=1)
        return (seen.z.reshape(-1, seen.z.shape[-1]), labels.reshape(-1)), {}

    return Objective(arrays)


def classified(setting):
    """Logits of the features of one view, and its labels.

    They are those of the factor `config.loss.factor`; `multi_label` has as classes all factors
    `present_<class>`, which are 0 or 1.
    """
    if setting.function is losses.multi_label:
        present = [name for name in setting.dataset.factors if name.startswith('present_')]
        if not present or 'factor' in setting.loss:
            raise BadInput(
                "config.loss.name is 'multi_label', which takes the factors present_<class> of a "
                'data set such as multidigits, '
                + ('and no config.loss.factor.' if present else 'and this data set has none.')
            )
        num_classes = len(present)

        def labels(example):
            return jnp.stack([example[name] for name in present], axis=1)
    else:
        factor = labelling_factor(setting)
        num_classes = setting.dataset.factors[factor]

        def labels(example):
            return example[factor]

    made = beside.classifier(*setting.shapes()[:2], num_classes=num_classes)
    return Objective(
        lambda seen: ((seen.outputs['classifier'], labels(seen.examples[0])), {}),
        num_sides=1,
        beside={'classifier': made},
    )


def generative(setting):
    """One view, appended channels included, and what a decoder makes of a code drawn from its h.

    The encoder is a variational one with two linear layers on h, the mean and the log variance of
    the code; its head, and z, have no part.
    """
    make = names.bind(variational_decoder, setting.decoder, 'decoder')
    made = make(setting.image_shape, shapes.appended_channels(setting.dataset))
    module = beside.decoder(*setting.shapes()[:2], module=made)
    return Objective(
        lambda seen: ((seen.images, *seen.outputs['decoder']), {}),
        num_sides=1,
        beside={'decoder': module},
    )


def labelling_factor(setting):
    """The factor that `config.loss.factor` names, 'label' by default."""
    name, factors = setting.loss.get('factor', 'label'), setting.dataset.factors
    if name not in factors:
        raise BadInput(
            f'config.loss.factor is {name!r}; the factors of this data set are: '
            f'{", ".join(factors) or "none"}.' + names.nearest(name, factors)
        )
    return name
