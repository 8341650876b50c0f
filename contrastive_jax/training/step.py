"""The train step: views, one forward pass, one loss, one update; `embed_step` has its twins.

What the loss compares beyond two views, its `Objective` makes: see `objectives`.
"""

import jax
import jax.numpy as jnp

from contrastive_jax import sharding
from contrastive_jax.data.probing.dataset import Draws, evaluation_draws
from contrastive_jax.randomness import Role, key_for, keys_for_examples
from contrastive_jax.training import descent, targets
from contrastive_jax.training.objectives import PAIRS, Seen

# What every step reports; a loss's parts have other names.
METRICS = ('loss', 'gradient_norm', 'parameter_norm')

# What a source gives of an example.
ROW = ('image', 'label', 'id')


def make_train_step(
    *, dataset, view, model, loss, optimizer, objective=PAIRS, negatives=None, accumulate=1
):
    """The function that trains.

    Args:
      dataset: a `ProbingDataset`.
      view: (key, image) -> image.
      model: a Linen module, (images, train) -> (h, z).
      loss: (*arrays, key, **options) -> (scalar, parts), the arrays and options being those of
        the objective: (z1, z2, key), with a keyword `negatives` [m, d] where there are any.
      optimizer: an optax transformation, whose update takes the loss as `value`.
      objective: the `Objective` that feeds the loss; two views by default.
      negatives: None, or the `ProbingDataset` whose examples are the only negatives: the batch then
        has `negative_image` and so on, and the tables have an entry `negatives` with its own. Of n
        pairs and n of its examples the loss gets the two views of n - 1: with its positive an
        anchor has the 2n - 1 candidates that it would have in the batch (Lee 2023, appendix C).
      accumulate: number of micro-batches of a step; above 1, the model has no batch norm.

    Returns:
      (state, batch, tables, seed_key) -> (state, metrics): pure, to be jitted with shardings.
      `metrics` are the scalars of METRICS and the loss's parts.
    """

    def train_step(state, batch, tables, seed_key):
        sides = sides_of_batch(dataset, objective, negatives, state.step, batch, tables, seed_key)
        # All views go through the network in one pass, so that the batch norm cannot tell them
        # apart. The rows of a pair lie beside each other: on several devices no image moves.
        images = views_side_by_side(view, sides)
        seen = Seen(
            examples=[examples for examples, _ in sides[: objective.num_sides]],
            ids=batch['id'],
            memory=state.memory,
            step=state.step,
            key=key_for(seed_key, Role.MEMORY_SETS, state.step),
            key_beside=key_for(seed_key, Role.BESIDE_DRAWS, state.step),
        )

        def embed(params, images):
            variables = {'params': params, 'batch_stats': state.batch_stats}
            outputs, updated = model.apply(variables, images, train=True, mutable=['batch_stats'])
            return outputs, updated.get('batch_stats', {})

        def by_example(z):
            return z.reshape(len(batch['id']), -1, z.shape[-1])

        if objective.momentum:
            theirs = images_of_sides(images, len(sides), objective.target_sides)
            (_, z), _ = embed(state.target, theirs)
            seen = seen._replace(targets=by_example(z))

        def loss_of(z, outputs=None):
            known = seen._replace(z=by_example(z), outputs=outputs)
            arrays, options = objective.arrays(known)
            value, parts = loss(*arrays, key_for(seed_key, Role.LOSS, state.step), **options)
            if 'temperature' in options:  # a learned one
                parts = {**parts, 'temperature': jnp.mean(options['temperature'])}
            return value, (parts, known.z)

        own = images_of_sides(images, len(sides), objective.sides)
        seen = seen._replace(images=own)
        if accumulate == 1:
            found = descent.whole_gradient(objective, state, seen, own, embed, loss_of)
        else:
            found = descent.accumulated_gradient(accumulate, state, own, embed, loss_of)
        after, metrics = descent.moved(state, optimizer, found)
        return kept_up(after, objective, seen._replace(z=found.z)), metrics

    return train_step


def images_of_sides(images, count, places):
    """The rows of some of `count` sides, of images [count n, ...] as `views_side_by_side` has."""
    if places == slice(None):
        return images
    by_side = images.reshape(-1, count, *images.shape[1:])
    return by_side[:, places].reshape(-1, *images.shape[1:])


def jit_train_step(experiment, donate=True):
    """The train step with its shardings; by default it takes the state's memory for the next."""
    whole = sharding.replicated(experiment.mesh)
    rows = sharding.batch_sharding(experiment.mesh)
    return jax.jit(
        experiment.train_step,
        in_shardings=(whole, rows, whole, whole),
        out_shardings=(whole, whole),
        donate_argnums=0 if donate else (),
    )


def kept_up(state, objective, seen):
    """The next step's state: its momentum encoder follows, its memory takes what was seen."""
    if objective.momentum:
        momentum = objective.momentum(state.step)
        state = state._replace(target=targets.follow(state.target, state.params, momentum))
    return state._replace(step=state.step + 1, memory=objective.write(state.memory, seen))


def compose(dataset, batch, tables, split_key):
    """The composed examples of a batch, each a function of seed, split and id."""
    draws = jax.vmap(evaluation_draws)(keys_for_examples(split_key, batch['id']))
    return _compose(dataset, draws, batch, tables)


def sides_of_examples(dataset, batch, tables, split_key):
    """As `sides_of_pairs`, outside training: drawn once for each example, whatever its batch."""
    keys = keys_for_examples(split_key, batch['id'])
    rows = batch, rows_of(batch, 'partner_') or batch  # the crops of a pair, or one image

    def drawn(number):
        return jax.vmap(lambda key: jax.random.fold_in(key, number))(keys)

    sides = []
    for index in range(2):
        # From 3 on: those before are of `evaluation_draws`.
        draws = Draws(keys, drawn(3), drawn(4 + index), jnp.full(len(keys), index, jnp.int32))
        sides.append((_compose(dataset, draws, rows[index], tables), drawn(6 + index)))
    return sides


def sides_of_pairs(dataset, batch, tables, seed_key, step):
    """The two sides of each pair with the keys of their views: [(examples, keys [n]), ...]."""
    roles = (Role.FIRST_VIEW, Role.SECOND_VIEW)
    keys = [step_keys(seed_key, role, step, len(batch['id'])) for role in roles]
    return [*zip(compose_pairs(dataset, batch, tables, seed_key, step), keys, strict=True)]


def sides_of_batch(dataset, objective, negatives, step, batch, tables, seed_key):
    """The sides that a step makes views of: those of the objective, then those of negatives."""
    sides = sides_of_pairs(dataset, batch, tables, seed_key, step)[: objective.num_sides]
    if negatives:
        sides += sides_of_negatives(negatives, batch, tables, seed_key, step)
    return sides


def sides_of_negatives(negatives, batch, tables, seed_key, step):
    """As `sides_of_pairs`, of the dataset that all negatives come from."""
    others = rows_of(batch, 'negative_')
    their_key = key_for(seed_key, Role.NEGATIVES)
    return sides_of_pairs(negatives, others, tables['negatives'], their_key, step)


def views_side_by_side(view, sides):
    """The views of all sides, for one pass through the network.

    Args:
      view: (key, image) -> image.
      sides: k of (composed examples, keys [n]).

    Returns:
      float32 [k n, h, w, c], appended channels included; rows k i to k i + k - 1 are of place i.
    """

    def rows(of):
        arrays = [of(*side) for side in sides]
        if all(array is arrays[0] for array in arrays):
            return jnp.repeat(arrays[0], len(arrays), axis=0)
        shape = (len(arrays) * len(arrays[0]), *arrays[0].shape[1:])
        return jnp.stack(arrays, axis=1).reshape(shape)

    # Mapped once over all rows: stacking the results of two maps makes the compiler do the last
    # operations of each twice (112-pixel crops of MultiDigits: 126 to 77 microseconds a view).
    keys = rows(lambda examples, keys: keys)
    images = jax.vmap(view)(keys, rows(lambda examples, keys: examples['image']))
    return append_channels(images, rows(lambda examples, keys: examples['channels']))


def compose_pairs(dataset, batch, tables, seed_key, step):
    """The two sides of each pair of a training batch.

    Args:
      dataset: a `ProbingDataset`.
      batch: rows of the source; `partner_<field>` where the second side is another example.
      tables: those of the dataset.
      seed_key: the key of the run's seed.
      step: of the run.

    Returns:
      Two dicts of composed examples; the same one twice if nothing tells the sides apart.
    """
    partner = rows_of(batch, 'partner_')
    visits = step_keys(seed_key, Role.VISIT, step, len(batch['id']))

    def side(rows, role, index):
        keys = keys_for_examples(key_for(seed_key, Role.TRAIN_EXAMPLES), rows['id'])
        own = step_keys(seed_key, role, step, len(keys))
        draws = Draws(keys, visits, own, jnp.full(len(keys), index, jnp.int32))
        return _compose(dataset, draws, rows, tables)

    first = side(batch, Role.FIRST_COMPOSITION, 0)
    if not partner and not dataset.sides_differ:
        return first, first
    return first, side(partner or batch, Role.SECOND_COMPOSITION, 1)


def rows_of(batch, prefix):
    """The rows of a batch whose fields have a prefix, without it; {} if there are none."""
    return {
        name.removeprefix(prefix): rows for name, rows in batch.items() if name.startswith(prefix)
    }


def step_keys(seed_key, role, step, count):
    """One key for each place of the batch of a step."""
    return jax.random.split(key_for(seed_key, role, step), count)


def _compose(dataset, draws, rows, tables):
    examples = {name: rows[name] for name in ROW}
    return jax.vmap(dataset.compose, in_axes=(0, 0, None))(draws, examples, tables)


def append_channels(images, channels):
    """Images [n, h, w, c] with each of channels [n, k] as a constant channel behind them."""
    shape = (*images.shape[:3], channels.shape[-1])
    constant = jnp.broadcast_to(channels[:, None, None, :], shape)
    return jnp.concatenate([images, constant], axis=-1)
