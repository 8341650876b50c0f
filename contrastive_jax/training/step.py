"""The train step: views, one forward pass, one loss, one update; and its evaluation twin.

What the loss compares beyond two views, its `Objective` makes: see `objectives`.
"""

import jax
import jax.numpy as jnp
import optax

from contrastive_jax import sharding
from contrastive_jax.data.probing.dataset import Draws, evaluation_draws
from contrastive_jax.randomness import Role, key_for, keys_for_examples
from contrastive_jax.training import accumulation, targets
from contrastive_jax.training import beside as modules_beside
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
        sides = sides_of_pairs(dataset, batch, tables, seed_key, state.step)
        sides = sides[: objective.num_sides]
        seen = Seen(
            examples=[examples for examples, _ in sides],
            ids=batch['id'],
            memory=state.memory,
            step=state.step,
            key=key_for(seed_key, Role.MEMORY_SETS, state.step),
        )
        if negatives:
            sides += sides_of_negatives(negatives, batch, tables, seed_key, state.step)
        # All views go through the network in one pass, so that the batch norm cannot tell them
        # apart. The rows of a pair lie beside each other: on several devices no image moves.
        images = views_side_by_side(view, sides)

        def images_of(places):
            if places == slice(None):
                return images
            by_side = images.reshape(-1, len(sides), *images.shape[1:])
            return by_side[:, places].reshape(-1, *images.shape[1:])

        def embed(params, images):
            variables = {'params': params, 'batch_stats': state.batch_stats}
            outputs, updated = model.apply(variables, images, train=True, mutable=['batch_stats'])
            return outputs, updated.get('batch_stats', {})

        def by_example(z):
            return z.reshape(len(batch['id']), -1, z.shape[-1])

        if objective.momentum:
            (_, z), _ = embed(state.target, images_of(objective.target_sides))
            seen = seen._replace(targets=by_example(z))

        def loss_of(z, outputs=None):
            known = seen._replace(z=by_example(z), outputs=outputs)
            arrays, options = objective.arrays(known)
            value, parts = loss(*arrays, key_for(seed_key, Role.LOSS, state.step), **options)
            if 'temperature' in options:  # a learned one
                parts = {**parts, 'temperature': jnp.mean(options['temperature'])}
            return value, (parts, known.z)

        def value_of(trained):
            at = state.with_trained(trained)
            (h, z), batch_stats = embed(at.params, images_of(objective.sides))
            outputs, stats_beside = modules_beside.apply(objective.beside, at.beside, h, z)
            value, kept = loss_of(z, outputs)
            return value, (kept, batch_stats, stats_beside)

        if accumulate == 1:
            gradient_of = jax.value_and_grad(value_of, has_aux=True)
            (value, (kept, batch_stats, stats_beside)), gradient = gradient_of(state.trained)
        else:
            accumulation.check_model(accumulate, state.batch_stats)
            (value, kept), gradient = accumulation.value_and_gradient(
                lambda *given: embed(*given)[0][1],
                state.params,
                images_of(objective.sides),
                loss_of,
                accumulate,
            )
            batch_stats, stats_beside = state.batch_stats, {}
        parts, z = kept
        updates, opt_state = optimizer.update(gradient, state.opt_state, state.trained, value=value)
        params = optax.apply_updates(state.trained, updates)
        metrics = {
            **parts,
            'loss': value,
            'gradient_norm': optax.tree.norm(gradient),
            # Of the parameters that this step made: finite as long as the run may go on.
            'parameter_norm': optax.tree.norm(params),
        }
        after = state.with_trained(params)._replace(batch_stats=batch_stats, opt_state=opt_state)
        if state.beside:
            after = after._replace(beside={**after.beside, 'batch_stats': stats_beside})
        return kept_up(after, objective, seen._replace(z=z)), metrics

    return train_step


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


def make_embed_step(*, dataset, view, model):
    """The function that embeds, in inference mode.

    Args:
      dataset: the `ProbingDataset` of the split that is embedded.
      view: image -> image, the view of training with nothing drawn.
      model: a Linen module, (images, train) -> (h, z).

    Returns:
      (variables, batch, tables, split_key) -> dict of `embeddings` h, `projections` z,
      `factor_<name>` for each factor, and `latents` where the dataset has them, all [b, ...];
      `split_key` is the seed's key for the role of the split.
    """

    def embed_step(variables, batch, tables, split_key):
        examples = compose(dataset, batch, tables, split_key)
        images = append_channels(jax.vmap(view)(examples['image']), examples['channels'])
        h, z = model.apply(variables, images, train=False)
        factors = {f'factor_{name}': examples[name] for name in dataset.factors}
        latents = {'latents': examples['latents']} if 'latents' in examples else {}
        return {'embeddings': h, 'projections': z, **factors, **latents}

    return embed_step


def compose(dataset, batch, tables, split_key):
    """The composed examples of a batch, each a function of seed, split and id."""
    draws = jax.vmap(evaluation_draws)(keys_for_examples(split_key, batch['id']))
    return _compose(dataset, draws, batch, tables)


def sides_of_examples(dataset, batch, tables, split_key):
    """As `sides_of_pairs`, outside training: drawn once for each example, whatever its batch."""
    keys = keys_for_examples(split_key, batch['id'])

    def drawn(number):
        return jax.vmap(lambda key: jax.random.fold_in(key, number))(keys)

    sides = []
    for index in range(2):
        # From 3 on: those before are of `evaluation_draws`.
        draws = Draws(keys, drawn(3), drawn(4 + index), jnp.full(len(keys), index, jnp.int32))
        sides.append((_compose(dataset, draws, batch, tables), drawn(6 + index)))
    return sides


def sides_of_pairs(dataset, batch, tables, seed_key, step):
    """The two sides of each pair with the keys of their views: [(examples, keys [n]), ...]."""
    roles = (Role.FIRST_VIEW, Role.SECOND_VIEW)
    keys = [step_keys(seed_key, role, step, len(batch['id'])) for role in roles]
    return [*zip(compose_pairs(dataset, batch, tables, seed_key, step), keys, strict=True)]


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
