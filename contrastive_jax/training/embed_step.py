"""The twins of the train step that embed, in inference mode: at rest, or in a drawn view."""

import jax

from contrastive_jax.randomness import keys_for_examples
from contrastive_jax.training.step import append_channels, compose, views_side_by_side


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
        return {'embeddings': h, 'projections': z, **known_of(dataset, examples)}

    return embed_step


def make_pass_step(*, dataset, view, model):
    """As `make_embed_step`, of a view (key, image) -> image that is drawn.

    What is composed stays as it is at rest, and with it every factor: the view alone is drawn.

    Returns:
      (variables, batch, tables, (split_key, number)) -> dict as of `make_embed_step`; an example
      has a draw of its own in each pass of another number.
    """

    def pass_step(variables, batch, tables, key):
        split_key, number = key
        examples = compose(dataset, batch, tables, split_key)
        # 8: those before are of `evaluation_draws` and `sides_of_examples`.
        keys = jax.vmap(lambda key: jax.random.fold_in(jax.random.fold_in(key, 8), number))(
            keys_for_examples(split_key, batch['id'])
        )
        images = views_side_by_side(view, [(examples, keys)])
        h, z = model.apply(variables, images, train=False)
        return {'embeddings': h, 'projections': z, **known_of(dataset, examples)}

    return pass_step


def known_of(dataset, examples):
    """What is known of composed examples: `factor_<name>`, and `latents` where there are any."""
    factors = {f'factor_{name}': examples[name] for name in dataset.factors}
    return factors | ({'latents': examples['latents']} if 'latents' in examples else {})
