"""The images of a source as they are, with the label as the one factor."""

import jax.numpy as jnp

from contrastive_jax.data.probing.dataset import ProbingDataset


def to_float(image):
    """uint8 in [0, 255] to float32 in [0, 1]; no mean or deviation is taken out."""
    return image.astype(jnp.float32) / 255.0


def label_of(source):
    """The factor `label` of a source as a dict; an empty one where it has no labels."""
    return {'label': source.num_classes} if source.num_classes else {}


def plain(source):
    """A source as a probing dataset with the factor `label`, if it has labels."""

    def compose(draws, example, tables):
        del draws, tables  # nothing is drawn or looked up
        return {
            'image': to_float(example['image']),
            'channels': jnp.zeros(0),
            'label': example['label'],
        }

    return ProbingDataset(source, label_of(source), compose)
