"""Embeddings of a run's examples and views, by its encoder or by another."""

import flax.linen as nn
import jax
import numpy as np

from contrastive_jax import randomness, sharding
from contrastive_jax.evaluation.embed import embed
from contrastive_jax.models.layers import layer_outputs
from contrastive_jax.training import step as steps


class Pixels(nn.Module):
    """No encoder: h and z are the pixels, one after another."""

    @nn.compact
    def __call__(self, images, train):
        """Images [n, ...] to [n, d], twice."""
        del train
        rows = images.reshape(len(images), -1)
        return rows, rows


class Subset:
    """Some examples of a source, with their own ids.

    Args:
      source: any source.
      ids: int [k] of them.
    """

    def __init__(self, source, ids):
        self.source, self.ids = source, np.asarray(ids)

    def __len__(self):
        return len(self.ids)

    def take(self, places):
        """As `take` of the source, of those places among the ids."""
        return self.source.take(self.ids[places])


def chosen(source, limit, seed=0):
    """The source, or `limit` of its examples drawn without replacement, by rising id."""
    if limit is None or len(source) <= limit:
        return source
    drawn = np.random.default_rng(seed).choice(len(source), limit, replace=False)
    return Subset(source, np.sort(drawn))


def embed_split(experiment, variables, split, *, model=None, layers=(), limit=None):
    """What an encoder makes of the examples of a split, nothing drawn.

    Args:
      experiment: a `build.Experiment`.
      variables: of the model.
      split: 'train' or 'test'.
      model: a Linen module; that of the experiment by default.
      layers: names of layers that are wanted too, see `models.layers.layer_outputs`.
      limit: the most examples; more are drawn from at random, the same at every call.

    Returns:
      dict of arrays [n, ...]: `embeddings` h, `projections` z, `layer_<name>`, `factor_<name>`,
      `latents` where there are any, `labels`, `ids`.

    Raises:
      BadInput: a layer that the model does not have.
    """
    dataset, model = getattr(experiment, split), model or experiment.model
    inner = steps.make_embed_step(dataset=dataset, view=experiment.resting_view, model=model)

    def step(variables, batch, tables, key):
        outputs = inner(variables, batch, tables, key)
        if layers:
            examples = steps.compose(dataset, batch, tables, key)
            images = jax.vmap(experiment.resting_view)(examples['image'])
            images = steps.append_channels(images, examples['channels'])
            found = layer_outputs(model, variables, images, layers)
            outputs |= {f'layer_{name}': rows for name, rows in found.items()}
        return outputs

    return _embed(experiment, step, variables, dataset, split, limit)


def embed_views(experiment, variables, split, *, limit=None):
    """What the encoder makes of two views of each example of a split, drawn as in training.

    Args: as `embed_split`.

    Returns:
      dict of `h` and `z`, each a tuple of two arrays [n, d].
    """
    dataset = getattr(experiment, split)

    def step(variables, batch, tables, key):
        sides = steps.sides_of_examples(dataset, batch, tables, key)
        images = steps.views_side_by_side(experiment.view, sides)
        outputs = experiment.model.apply(variables, images, train=False)
        return {
            f'{name}{side}': rows[side::2]
            for name, rows in zip('hz', outputs, strict=True)
            for side in range(2)
        }

    found = _embed(experiment, step, variables, dataset, split, limit)
    return {name: (found[f'{name}0'], found[f'{name}1']) for name in 'hz'}


def _embed(experiment, step, variables, dataset, split, limit):
    """`step` jitted and called on the examples of a split."""
    whole = sharding.replicated(experiment.mesh)
    rows = sharding.batch_sharding(experiment.mesh)
    jitted = jax.jit(step, in_shardings=(whole, rows, whole, whole), out_shardings=whole)
    tables = jax.device_put(dict(dataset.tables), whole)
    return embed(
        lambda variables, batch, key: jitted(variables, batch, tables, key),
        variables,
        chosen(dataset.source, limit),
        randomness.key_for(experiment.seed_key, randomness.SPLIT_ROLES[split]),
        experiment.mesh,
    )
