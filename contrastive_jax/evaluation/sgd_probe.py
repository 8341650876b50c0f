"""Linear probe by SGD on frozen embeddings, with the papers' schedules."""

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.accuracies import accuracies, places_of, ranks
from contrastive_jax.evaluation.rows import checked_rows, checked_sets
from contrastive_jax.losses import cross_entropy
from contrastive_jax.losses.similarities import inner_products

MOMENTUM = 0.9

# A plateau is PATIENCE epochs none of which has a training loss below (1 - LEAST_GAIN) times the
# best before it; at most MOST_DROPS of them divide the learning rate by ten.
PATIENCE, LEAST_GAIN, MOST_DROPS = 10, 1e-3, 2


class Recipe(NamedTuple):
    """How a probe is trained.

    Attributes:
      learning_rate: at the start; of a batch of 256 where `scaled`.
      scaled: whether it grows linearly with the batch.
      batch_size: rows of a step.
      epochs: over the training rows.
      schedule: 'cosine' to zero over all steps; 'steps', x 0.2 at 40, 60 and 80 % of the epochs;
        'plateau', x 0.1 where the training loss stays, twice at most.
      nesterov: form of the momentum.
      weight_decay: added to the gradient, times the weights and biases.
      deviation: of the normal weights to start from; 0 for zeros.
    """

    learning_rate: float
    scaled: bool
    batch_size: int
    epochs: int
    schedule: str
    nesterov: bool = False
    weight_decay: float = 0.0
    deviation: float = 0.0


# SimCLR's own frozen evaluations, which Chen 2021 follows; the others by paper.
RECIPES = {
    'rusak2022': Recipe(30.0, True, 256, 30, 'cosine'),
    'simclr_cifar': Recipe(0.1, True, 512, 100, 'cosine', nesterov=True),
    'simclr_imagenet': Recipe(0.1, True, 4096, 90, 'cosine', nesterov=True, weight_decay=1e-6),
    'wang2021': Recipe(30.0, False, 256, 100, 'steps', deviation=0.01),
    'wu2020': Recipe(0.01, False, 256, 30, 'plateau', weight_decay=1e-5),
}


def sgd_probe(
    train,
    train_labels,
    test,
    test_labels,
    *,
    recipe='simclr_cifar',
    seed=0,
    epochs=None,
    batch_size=None,
    learning_rate=None,
):
    """A linear classifier trained by SGD on the embeddings as they are.

      min_W,b  mean_i cross_entropy(W x_i + b, y_i)

    No recipe standardises x, so none is standardised here: what a recipe reaches depends on their
    scale, unlike `linear_probe`. Each epoch takes the rows in a new order, in full batches; a set
    smaller than the batch is one batch.

    Args:
      train: embeddings [n, d], or [v, n, d] of v passes over the same n images in views of their
        own: epoch e takes pass e mod v. Computed in float32.
      train_labels: integer [n], at least two classes.
      test: embeddings [m, d] to score on.
      test_labels: integer [m]. Classes without a training row count as wrong.
      recipe: one of `RECIPES`.
      seed: of the orders and the first weights, in [0, 2^32).
      epochs: in place of the recipe's; its schedule is stretched.
      batch_size: in place of the recipe's; where the rate is scaled it is multiplied by the rows of
        a step / 256.
      learning_rate: in place of the recipe's, before it is scaled.

    Returns:
      dict of floats: `test_accuracy` with its 95 % Wilson interval `test_accuracy_low` and
      `test_accuracy_high`, and `test_top5` where there are more than five classes; at the end and
      for the first pass, `train_accuracy` and `final_loss`, the mean cross entropy in nats;
      `unseen`, the number of test rows of a class without a training row.

    Raises:
      BadInput: shapes that do not match, a row that is not finite, fewer than two classes, an
        unknown recipe, an option out of its range, or a loss that overflows.

    Source: the code of SimCLR, which Chen 2021 follows; Wang 2021, section 5.1; Wu 2020, appendix
      B.3 (twice a patience of 10 epochs; of the training loss here); for Rusak 2022 the code that
      it names. What they leave open: cosines fall with every step, Wang's momentum is 0.9 and its
      batch 256, weights start at zero but for Wang's, biases always.
    """
    recipe = chosen_recipe(recipe, epochs, batch_size, learning_rate)
    if not 0 <= seed < 2**32:
        raise BadInput(f'seed is {seed}, outside 0..2**32 - 1.')
    passes, train_labels, test, test_labels = _checked(train, train_labels, test, test_labels)
    classes = np.unique(train_labels)
    places = jnp.asarray(places_of(train_labels, classes), jnp.int32)
    classifier = _train(passes, places, len(classes), recipe, seed)
    train_ranks, losses = _read(classifier, jnp.asarray(passes[0]), places)
    test_places = jnp.asarray(places_of(test_labels, classes), jnp.int32)
    test_ranks, _ = _read(classifier, jnp.asarray(test), test_places)
    return {
        **accuracies(np.asarray(test_ranks), len(classes)),
        'train_accuracy': float(np.mean(np.asarray(train_ranks) == 0)),
        'final_loss': float(np.mean(np.asarray(losses))),
    }


def chosen_recipe(name, epochs=None, batch_size=None, learning_rate=None):
    """The recipe of a name with the options in place of its own, or BadInput."""
    if name not in RECIPES:
        raise BadInput(f'recipe is {name!r}, not one of: {", ".join(RECIPES)}.')
    given = {'epochs': epochs, 'batch_size': batch_size, 'learning_rate': learning_rate}
    given = {field: value for field, value in given.items() if value is not None}
    for field, value in given.items():
        whole = field != 'learning_rate'
        number = isinstance(value, int | float)
        if not number or not 0 < value < math.inf or (whole and value != int(value)):
            kind = 'an integer' if whole else 'a number'
            raise BadInput(f'{field} is {value!r}; it must be {kind} above 0.')
        given[field] = int(value) if whole else value
    return RECIPES[name]._replace(**given)


def _checked(train, train_labels, test, test_labels):
    """Passes [v, n, d] and test rows in float32 with their labels, or BadInput."""
    passes = np.asarray(train)
    passes = passes[None] if passes.ndim == 2 else passes
    if passes.ndim != 3 or not len(passes):
        raise BadInput(
            f'train embeddings must be [n, d], or [v, n, d] of v passes, got shape {passes.shape}.'
        )
    count, rows, dimensions = passes.shape
    flat = checked_rows(passes.reshape(count * rows, dimensions), 'train embeddings')
    passes = flat.astype(np.float32).reshape(passes.shape)
    sets = checked_sets(passes[0], train_labels, test, test_labels, dtype=np.float32)
    return passes, *sets[1:]


def _train(passes, places, classes, recipe, seed):
    """The weights [c, d] and biases [c] at the end of a recipe."""
    count, dimensions = passes.shape[1:]
    batch_size = min(recipe.batch_size, count)
    steps = count // batch_size
    init_key, order_key = jax.random.split(jax.random.key(seed))
    weights = jax.random.normal(init_key, (classes, dimensions), jnp.float32) * recipe.deviation
    classifier = weights, jnp.zeros(classes, jnp.float32)
    state = classifier, jax.tree.map(jnp.zeros_like, classifier)
    losses = []
    for epoch in range(recipe.epochs):
        if epoch == 0 or len(passes) > 1:
            rows = jnp.asarray(passes[epoch % len(passes)])
        state, loss = _epoch(
            state,
            rows,
            places,
            jax.random.fold_in(order_key, epoch),
            learning_rates(recipe, batch_size, steps, losses),
            batch_size=batch_size,
            nesterov=recipe.nesterov,
            weight_decay=recipe.weight_decay,
        )
        losses.append(float(loss))
        if not math.isfinite(losses[-1]):
            raise BadInput(
                f'the loss of the probe is {losses[-1]} in epoch {epoch}: the largest train '
                f'embedding is {np.abs(passes).max():.3g}; scale them, or lower learning_rate.'
            )
    return state[0]


def learning_rates(recipe, batch_size, steps, losses):
    """The learning rate of each step of an epoch.

    Args:
      recipe: a `Recipe`.
      batch_size: rows of a step.
      steps: in an epoch.
      losses: the mean training loss of every epoch before.

    Returns:
      float32 [steps].
    """
    epoch = len(losses)
    start = recipe.learning_rate * (batch_size / 256 if recipe.scaled else 1)
    if recipe.schedule == 'cosine':
        passed = (epoch * steps + np.arange(steps)) / (recipe.epochs * steps)
        rates = start * (1 + np.cos(np.pi * passed)) / 2
    elif recipe.schedule == 'steps':
        # In whole numbers: 0.6 of the epochs, rounded, may be missed.
        rates = start * 0.2 ** sum(5 * epoch >= fifths * recipe.epochs for fifths in (2, 3, 4))
    else:
        rates = start * 0.1 ** plateaus(losses)
    return np.broadcast_to(np.float32(rates), (steps,))


def plateaus(losses):
    """How often the losses of the epochs so far reached a plateau, at most `MOST_DROPS`."""
    best, since, found = math.inf, 0, 0
    for loss in losses:
        gained = loss < best * (1 - LEAST_GAIN)
        best, since = (loss, 0) if gained else (best, since + 1)
        if since == PATIENCE:
            found, since = found + 1, 0
    return min(found, MOST_DROPS)


def _scores(classifier, rows):
    weights, biases = classifier
    return inner_products(rows, weights) + biases[None]


@functools.partial(jax.jit, static_argnames=('batch_size', 'nesterov', 'weight_decay'))
def _epoch(state, rows, places, key, rates, *, batch_size, nesterov, weight_decay):
    """The state after one epoch, and the mean loss of its steps."""
    order = jax.random.permutation(key, len(rows))[: len(rates) * batch_size]

    def step(state, batch):
        (classifier, velocity), (chosen, rate) = state, batch

        def loss(classifier):
            return cross_entropy(_scores(classifier, rows[chosen]), places[chosen])[0]

        value, slope = jax.value_and_grad(loss)(classifier)
        slope = jax.tree.map(lambda slope, at: slope + weight_decay * at, slope, classifier)
        velocity = jax.tree.map(lambda v, slope: MOMENTUM * v + slope, velocity, slope)
        ahead = velocity
        if nesterov:
            ahead = jax.tree.map(lambda v, slope: MOMENTUM * v + slope, velocity, slope)
        classifier = jax.tree.map(lambda at, v: at - rate * v, classifier, ahead)
        return (classifier, velocity), value

    state, losses = jax.lax.scan(step, state, (order.reshape(-1, batch_size), rates))
    return state, jnp.mean(losses)


@functools.partial(jax.jit, static_argnames='rows_at_once')
def _read(classifier, rows, places, *, rows_at_once=1024):
    """`ranks` and cross entropy [n] of rows, in blocks so that no [n, c] matrix is stored."""

    def read(row):
        embedding, place = row
        scores = _scores(classifier, embedding[None])
        return ranks(scores, place[None])[0], logsumexp(scores) - scores[0, place]

    return jax.lax.map(read, (rows, places), batch_size=rows_at_once)
