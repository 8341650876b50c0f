"""What a run remembers: `config.memory`, the bank or queue of a loss and its neighbour sets.

Memory lies whole on every device: 50,000 rows of 128 dimensions are 25 MB. Rows are computed with
the parameters before the step and enter behind it.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from contrastive_jax import names
from contrastive_jax.errors import BadInput
from contrastive_jax.memory import clusters as clustering
from contrastive_jax.memory import neighbours
from contrastive_jax.training.fields import check_number


def queue(*, size=65536):
    """The size of MoCo's queue, at least 1 (He et al. 2020: 65,536)."""
    check_number('memory.size', size, least=1, whole=True)
    return size


def bank(*, momentum=0.5):
    """The momentum of a bank's rows, in [0, 1) (Wang 2021 and Wu 2020: 0.5)."""
    check_number('memory.momentum', momentum, least=0, most=1)
    if momentum == 1:
        raise BadInput('config.memory.momentum is 1, with which the bank would never change.')
    return momentum


# Rows of a background, as in Wu 2020.
MANY = 4096


class Anchors(NamedTuple):
    """Whose sets are wanted: anchors [b, d] with their index [b] in a bank [N, d].

    Beside them the `labels` [N, seeds] of the bank's clusters, the ids [b, k] of the
    `background`, the `step` of the run, and a `key`. What there is not is None.
    """

    rows: Any
    bank: Any
    index: Any
    labels: Any
    step: Any
    key: Any
    background: Any = None


class Sets(NamedTuple):
    """How the ids of a set are chosen.

    Attributes:
      ids: (Anchors) -> ids [b, k].
      labels: None, or () -> the clusters' labels [N, seeds] before the first fit.
      fit: (bank, first_seed) -> labels, on the host.
      refresh_every: steps between two fits.
    """

    ids: Callable
    labels: Callable | None = None
    fit: Callable | None = None
    refresh_every: int = 0


def nearest(size, epoch, field, *, count=None, approximate=False):
    """The `count` rows of the bank nearest to the anchor; see `memory.neighbours.nearest`.

    None is 4,096, or all of fewer.

    Source: Wu 2020, its code: by inner products with the current embedding.
    """
    del epoch
    count = min(MANY, size) if count is None else count
    check_number(f'{field}.count', count, least=1, most=size, whole=True)
    return Sets(
        lambda of: neighbours.nearest(of.rows, of.bank, count=count, approximate=approximate)
    )


def nearest_few(size, epoch, field, *, count=10, approximate=False):
    """As `nearest`, of fewer: the 10 nearest of Wu 2020's text, where its code has clusters."""
    return nearest(size, epoch, field, count=count, approximate=approximate)


def ring(size, epoch, field, *, num_steps, num_draws=None, inner=0.0):
    """Draws from a ball that shrinks from the bank to as many rows as are drawn.

    Args:
      size: N.
      epoch: steps in one.
      field: of the config.
      num_steps: of the descent, half of the run in our reading of the paper.
      num_draws: k; None is 4,096, or N where that is less.
      inner: share of the ball that is skipped: 0 makes BALL+ and 0.1 ANN+.

    Source: Wu 2020, Sec. 5; see `memory.neighbours.ring` and `annealed_fraction`.
    """
    del epoch
    check_number(f'{field}.num_steps', num_steps, least=1, whole=True)
    num_draws = min(MANY, size) if num_draws is None else num_draws
    check_number(f'{field}.num_draws', num_draws, least=1, most=size, whole=True)
    check_number(f'{field}.inner', inner, least=0, most=0.999)

    def ids(of):
        outer = neighbours.annealed_fraction(of.step, num_steps=num_steps, end=num_draws / size)
        return neighbours.ring(
            of.rows, of.bank, outer=outer, num_draws=num_draws, key=of.key, inner=inner
        )

    return Sets(ids)


def clusters(size, epoch, field, *, num_clusters, num_seeds=10, refresh_every=None):
    """The rows of the background that share a cluster with the anchor; see `memory.clusters`.

    Args:
      size: N.
      epoch: steps in one.
      field: of the config.
      num_clusters: k of K-means: 300 for CIFAR-10, 30,000 for ImageNet in Wu 2020.
      num_seeds: clusterings.
      refresh_every: steps between two of them; None is an epoch. Before the first of them every
        row is alone.
    """
    check_number(f'{field}.num_clusters', num_clusters, least=1, most=size, whole=True)
    check_number(f'{field}.num_seeds', num_seeds, least=1, whole=True)
    every = epoch if refresh_every is None else refresh_every
    check_number(f'{field}.refresh_every', every, least=1, whole=True)
    return Sets(
        lambda of: clustering.close(of.labels, of.index, of.background),
        labels=functools.partial(clustering.init, size, num_seeds),
        fit=functools.partial(clustering.fit, num_clusters=num_clusters, num_seeds=num_seeds),
        refresh_every=every,
    )


def uniform(size, epoch, field, *, num_draws=4096):
    """Uniform draws from the bank, with replacement: the noise of Wu et al. 2018."""
    del epoch
    check_number(f'{field}.num_draws', num_draws, least=1, whole=True)
    return Sets(lambda of: jax.random.randint(of.key, (len(of.rows), num_draws), 0, size))


# The sets that a loss may ask for, in the order in which they are made; the first rule that each
# may have is the default.
RULES = {
    'background': {'nearest': nearest, 'ring': ring},
    'close': {'clusters': clusters, 'nearest': nearest_few},
    'noise': {'uniform': uniform},
}


def bind_sets(section, wanted, size, epoch):
    """The rules of the sets that a loss asks for.

    Args:
      section: `config.memory` as a dict; each set may have a section there, with `name` and
        options.
      wanted: names of sets.
      size: N, rows of the bank.
      epoch: steps in one.

    Returns:
      dict of name to `Sets`, in the order of RULES.

    Raises:
      BadInput: an unknown rule, or an option of one that cannot be.
    """
    rules = {}
    for name, choices in RULES.items():
        if name not in wanted:
            continue
        field = f'memory.{name}'
        given = section.get(name, {})
        if isinstance(given, str):  # a rule with its defaults
            given = {'name': given}
        if not hasattr(given, 'keys'):
            raise BadInput(
                f'config.{field} is {given!r}; it must name a rule with its options, as in '
                f"'{field.partition('.')[2]}={next(iter(choices))}(...)', of: {', '.join(choices)}."
            )
        options = dict(given)
        chosen = options.pop('name', next(iter(choices)))
        if chosen not in choices:
            raise BadInput(
                f'config.{field}.name is {chosen!r}, not one of: {", ".join(choices)}.'
                + names.nearest(chosen, choices)
            )
        rules[name] = names.bind(choices[chosen], options, field)(size, epoch, field)
    return rules


def make_sets(rules, anchors):
    """The ids of every set, dict of name to [b, k].

    Args:
      rules: dict of name to `Sets`.
      anchors: an `Anchors` without its background.
    """
    made = {}
    for number, (name, rule) in enumerate(rules.items()):
        key = jax.random.fold_in(anchors.key, number)
        made[name] = rule.ids(anchors._replace(key=key, background=made.get('background')))
    return made
