"""What RandBit costs a train step, beside the same step without it: see `benchmarks.data`."""

import dataclasses

import numpy as np

from benchmarks.timing import interleaved
from benchmarks.train_side import trainer, view_maker
from configs.chen2021 import randbit_digits
from contrastive_jax import sharding, views
from contrastive_jax.data import probing, sources
from contrastive_jax.training import build, optimizers, state, step
from contrastive_jax.training.bind_loss import bind_loss
from contrastive_jax.training.bind_views import bind_model
from contrastive_jax.training.sections import bind_section
from contrastive_jax.training.shapes import seen_shape

TITLE = 'RandBit in a train step'
BITS = 8
STEPS = 5  # in one timed call
ROUNDS = 25


def with_constants(source):
    """A source's images with the same BITS constant channels behind all of them."""
    plain = probing.plain(source)

    def compose(draws, example, tables):
        return plain.compose(draws, example, tables) | {'channels': tables['channels']}

    # As an argument of the compiled step, or the compiler would know the channels.
    channels = np.ones(BITS, np.float32)
    return dataclasses.replace(plain, compose=compose, tables={'channels': channels})


def experiment_on(dataset, config, view):
    """The experiment of a config on a data set of our own."""
    experiment = build.build(config, sharding.data_mesh(1))
    optimizer = bind_section(
        optimizers,
        config.optimizer,
        'optimizer',
        supplied={'num_steps': config.num_steps, 'batch_size': config.batch_size},
    )()
    shape = seen_shape(dataset, lambda image: image)
    model = bind_model(config, dataset, shape)
    return experiment._replace(
        train=dataset,
        model=model,
        init_state=lambda key: state.init_state(model, optimizer, shape, key),
        train_step=step.make_train_step(
            dataset=dataset,
            view=view,
            model=model,
            loss=bind_loss(config.loss),
            optimizer=optimizer,
        ),
    )


def print_rows():
    """Prints milliseconds of a step of the RandBit notebook's config, and what RandBit adds.

    A step on as many constant channels tells RandBit from the network that sees them, and composing
    and cropping without the network tells what appending the channels takes.
    """
    config = randbit_digits.get_config()
    source = sources.open_source('digits', 'train')
    view = bind_section(views, config.views, 'views')
    datasets = {
        'no extra channels': probing.plain(source),
        f'{BITS} constant channels': with_constants(source),
        f'RandBit, {BITS} bits': probing.randbit(source, num_bits=BITS),
    }
    sides = {}
    for name, dataset in datasets.items():
        experiment = experiment_on(dataset, config, view)
        sides[f'step, {name}'] = trainer(experiment, STEPS)
        sides[f'views alone, {name}'] = view_maker(dataset, view, config.batch_size, STEPS)
    times = interleaved(sides, ROUNDS)
    plain, constant, randbit = datasets
    print(f'{"ms a step":36} {"best":>9} {"median":>9} {"RandBit is":>12}')
    for part in ('step', 'views alone'):
        for name in datasets:
            best, median = times[f'{part}, {name}']
            ratio = times[f'{part}, {randbit}'][1] / median
            line = f'{f"{part}, {name}":36} {1000 * best / STEPS:9.2f} {1000 * median / STEPS:9.2f}'
            print(f'{line} {ratio:11.3f}x')
    for at, word in enumerate(('best', 'median')):
        code = times[f'step, {randbit}'][at] / times[f'step, {constant}'][at] - 1
        added = times[f'views alone, {randbit}'][at] - times[f'views alone, {plain}'][at]
        share = added / times[f'step, {randbit}'][at]
        print(f'RandBit adds to a step, {word}: code {code:.1%}; code and channels {share:.1%}')
