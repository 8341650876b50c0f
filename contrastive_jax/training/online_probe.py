"""The online probe: a linear classifier trained along with the encoder, which never feels it."""

from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax import names
from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.intervals import wilson
from contrastive_jax.losses import cross_entropy
from contrastive_jax.training.beside import Beside
from contrastive_jax.training.bind_evaluation import check_factor
from contrastive_jax.training.fields import check_number
from contrastive_jax.training.objectives import ONLINE_PROBE

# What it reads, and what embeddings call that.
FEATURES = {'h': 'embeddings', 'z': 'projections'}
INITIALIZERS = {
    'zeros': nn.initializers.zeros,
    'glorot_uniform': nn.initializers.glorot_uniform(),
}


class OnlineProbe(NamedTuple):
    """What an online probe classifies, by what.

    Attributes:
      factor: one of the dataset's factors.
      features: a key of FEATURES.
      num_classes: number of values of the factor.
      learning_rate: of its own, with Adam; None leaves it to the run's optimizer.
      views: 'all' or 'first': those of an example that it is trained on.
      initializer: of its weights, a key of INITIALIZERS.
    """

    factor: str
    features: str
    num_classes: int
    learning_rate: float | None
    views: str = 'all'
    initializer: str = 'zeros'

    def module(self, features, dimensions):
        """The classifier, as a `Beside`, of h [n, features] and z [n, dimensions]."""

        def reads(h, z):
            return (jax.lax.stop_gradient(h if self.features == 'h' else z).astype(jnp.float32),)

        dense = nn.Dense(self.num_classes, kernel_init=INITIALIZERS[self.initializer])
        return Beside(dense, reads, (features, dimensions), self.learning_rate)

    def loss(self, logits, examples):
        """The mean cross entropy of the rows of a batch, and what is logged of it.

        Args:
          logits: [s n, c], row s i + k of side k of example i; sides without labels come last.
          examples: the sides with labels, dicts of arrays [n].

        Returns:
          (scalar in nats, {'online_loss', 'online_train_accuracy'}).
        """
        examples = examples[:1] if self.views == 'first' else examples
        labels = jnp.stack([side[self.factor] for side in examples], axis=1)
        logits = logits.reshape(len(labels), -1, self.num_classes)[:, : len(examples)]
        logits, labels = logits.reshape(-1, self.num_classes), labels.reshape(-1)
        value = cross_entropy(logits, labels)[0]
        right = (jnp.argmax(logits, axis=1) == labels).astype(jnp.float32)
        return value, {'online_loss': value, 'online_train_accuracy': jnp.mean(right)}

    def measure(self, classifier, test):
        """The accuracy on the test examples at rest, with its 95 % Wilson interval.

        Args:
          classifier: dict of `kernel` [d, c] and `bias` [c].
          test: of `embed_split`.

        Returns:
          dict of `online_accuracy`, `online_accuracy_low` and `online_accuracy_high`.
        """
        kernel, bias = (np.asarray(classifier[name]) for name in ('kernel', 'bias'))
        logits = np.asarray(test[FEATURES[self.features]], np.float32) @ kernel + bias
        # Of a classifier that is not finite no class is the greatest.
        finite = np.isfinite(logits).all(axis=1)
        right = finite & (np.argmax(logits, axis=1) == test[f'factor_{self.factor}'])
        low, high = wilson(int(right.sum()), len(right))
        return {
            'online_accuracy': float(right.mean()),
            'online_accuracy_low': low,
            'online_accuracy_high': high,
        }


def online_probe(
    dataset, *, factor='label', features='h', learning_rate=None, views='all', initializer='zeros'
):
    """The options of `config.online_probe` as an `OnlineProbe`.

      min_W,b  mean over all views of cross_entropy(W stop_gradient(h) + b, y)

    By the run's optimizer it has neither weight decay nor LARS's ratio.

    Args:
      dataset: the `ProbingDataset` to train on.
      factor: what is classified.
      features: 'h' or 'z'.
      learning_rate: above 0, of an Adam of its own; None takes the run's optimizer.
      views: 'all', or 'first': of the two of an example.
      initializer: of its weights, a key of INITIALIZERS; the notebook's is 'glorot_uniform', which
        600 steps do not forget.

    Raises:
      BadInput: an option out of its range, or a factor that the dataset lacks.

    Source: Chen 2021: the RandBit notebook has one optimizer for all and classifies first views;
      SimCLR's code, likewise, classifies both.
    """
    check_factor(dataset, factor, 'online_probe.factor')
    if features not in FEATURES:
        raise BadInput(
            f'config.online_probe.features is {features!r}, not one of: {", ".join(FEATURES)}.'
        )
    if views not in ('all', 'first'):
        raise BadInput(f'config.online_probe.views is {views!r}, not one of: all, first.')
    if initializer not in INITIALIZERS:
        raise BadInput(
            f'config.online_probe.initializer is {initializer!r}, not one of: '
            f'{", ".join(INITIALIZERS)}.'
        )
    if learning_rate is not None:
        check_number('online_probe.learning_rate', learning_rate, above=0)
    return OnlineProbe(factor, features, dataset.factors[factor], learning_rate, views, initializer)


def with_online_probe(objective, config, dataset, shapes):
    """The objective with the probe of `config.online_probe` beside the encoder, if there is one.

    Args:
      objective: an `Objective`.
      config: a ConfigDict.
      dataset: the `ProbingDataset` to train on.
      shapes: () -> (f, d, whether the model has batch norm) of its h and z.
    """
    section = config.get('online_probe')
    if section is None:
        return objective
    probe = names.bind(online_probe, dict(section), 'online_probe')(dataset)
    if config.optimizer.get('accumulate', 1) > 1:
        raise BadInput(
            f'config.optimizer.accumulate is {config.optimizer.accumulate}, but there is a '
            'config.online_probe beside the encoder, and micro-batches are of an encoder alone; '
            'leave one of them out.'
        )
    module = probe.module(*shapes()[:2])
    return objective._replace(probe=probe, beside={**objective.beside, ONLINE_PROBE: module})
