"""Objectives over memory banks: `Setting` to `Objective`."""

import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils

from contrastive_jax import names, randomness
from contrastive_jax.errors import BadInput
from contrastive_jax.losses.similarities import unit_rows
from contrastive_jax.memory import bank as banks
from contrastive_jax.training import hosts, memories
from contrastive_jax.training.objectives import Objective


def one_bank(setting):
    """One view of every example against the bank: a single augmentation, as in the papers."""
    return over_banks(setting, ('',))


def two_banks(setting):
    """Two encoders of one view, each against the bank of the other; z has both, side by side."""
    return over_banks(setting, ('1', '2'))


def over_banks(setting, suffixes):
    """The objective over banks of these suffixes; memory has `bank<suffix>` [N, d] for each.

    Where sets are made of clusters it has `clusters<suffix>` [N, seeds] as well, and in
    `fitted_after` the step after which they were fitted last.
    """
    wanted = wanted_sets(setting)
    sections = {name: setting.memory[name] for name in wanted if name in setting.memory}
    others = {name: value for name, value in setting.memory.items() if name not in sections}
    for name in others:
        if name != 'momentum':
            choices = ('momentum', *wanted)
            raise BadInput(
                f'config.memory.{name} is not an option of the memory of {setting.loss["name"]!r}, '
                f'which has: {", ".join(choices)}.' + names.nearest(name, choices)
            )
    momentum = names.bind(memories.bank, others, 'memory')()
    size = len(setting.dataset.source)
    rules = memories.bind_sets(sections, wanted, size, max(1, size // setting.batch_size))
    fitted = next((rule for rule in rules.values() if rule.fit), None)

    def anchors_of(seen):
        return [unit_rows(rows) for rows in jnp.split(seen.z[:, 0], len(suffixes), axis=1)]

    def arrays(seen):
        anchors = anchors_of(seen)
        held = [seen.memory[f'bank{suffix}'] for suffix in suffixes]
        return (*anchors, *held, seen.ids), sets_of(rules, seen, anchors, suffixes)

    def init_memory(key):
        dimensions = setting.shapes()[1] // len(suffixes)
        memory = {}
        for number, suffix in enumerate(suffixes):
            own = jax.random.fold_in(key, number)
            memory[f'bank{suffix}'] = banks.init(own, size, dimensions)
            if fitted:
                memory[f'clusters{suffix}'] = fitted.labels()
                memory['fitted_after'] = jnp.int32(0)
        return memory

    def write(memory, seen):
        written = dict(memory)
        for suffix, rows in zip(suffixes, anchors_of(seen), strict=True):
            bank = memory[f'bank{suffix}']
            written[f'bank{suffix}'] = banks.write(bank, seen.ids, rows, momentum=momentum)
        return written

    return Objective(
        arrays,
        num_sides=1,
        init_memory=init_memory,
        write=write,
        refresh=functools.partial(refreshed, fitted, setting.seed) if fitted else None,
    )


def wanted_sets(setting):
    """The sets that the loss asks for: one each, or for two banks a pair where the config says."""
    parameters = inspect.signature(setting.function).parameters
    return [
        name for name in memories.RULES
        if name in parameters or (f'{name}s' in parameters and name in setting.memory)
    ]  # fmt: skip


def sets_of(rules, seen, anchors, suffixes):
    """The options that give a loss its sets, of each anchors' rows in the bank they face."""
    made = []
    # Of two encoders each faces the bank of the other.
    for number, (rows, against) in enumerate(zip(anchors, suffixes[::-1], strict=True)):
        of = memories.Anchors(
            rows=rows,
            bank=seen.memory[f'bank{against}'],
            index=seen.ids,
            labels=seen.memory.get(f'clusters{against}'),
            step=seen.step,
            key=jax.random.fold_in(seen.key, number),
        )
        made.append(memories.make_sets(rules, of))
    if len(suffixes) == 1:
        return made[0]
    return {f'{name}s': tuple(of[name] for of in made) for name in rules}


def refreshed(rule, seed, memory, step, on_first=hosts.on_first):
    """The memory with its clusters fitted anew, if they are due after this step and were not yet.

    Of several processes the first one fits, with `on_first` as `hosts.on_first`: K-means of the
    same rows need not end the same on all.
    """
    if step % rule.refresh_every or int(memory['fitted_after']) == step:
        return memory
    renewed = {'fitted_after': np.int32(step)}
    key = randomness.key_for(seed, randomness.Role.CLUSTERS, step)
    first_seed = int(jax.random.randint(key, (), 0, 2**30))
    fit = functools.partial(rule.fit, first_seed=first_seed)
    for name, labels in memory.items():
        if name.startswith('clusters'):
            bank = memory[name.replace('clusters', 'bank')]
            renewed[name] = fitted_on_first(fit, bank, labels, on_first)
    placed = {name: jax.device_put(value, memory[name].sharding) for name, value in renewed.items()}
    return {**memory, **placed}


def fitted_on_first(fit, bank, labels, on_first):
    """New labels of a bank, as NumPy, the same on all processes; `labels` are the old ones."""
    found = np.zeros(labels.shape, labels.dtype)

    def work():
        found[:] = fit(bank)

    on_first(work)
    return multihost_utils.broadcast_one_to_all(found)
