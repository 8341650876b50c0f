"""Evaluation during and after training: what `config.evaluation.name` may say.

A protocol takes the embeddings of both splits, each with what is to be read of them, and returns a
dict of floats. One of them is its score, higher being better: `score_of` names it, and the ends of
its 95 % interval are `<score>_low` and `<score>_high`.
"""

import inspect

import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.factors import adjusted_r2
from contrastive_jax.evaluation.intervals import NORMAL_95, wilson
from contrastive_jax.evaluation.knn import check_neighbours, knn_accuracy
from contrastive_jax.evaluation.linear_probe import linear_probe
from contrastive_jax.evaluation.sgd_probe import chosen_recipe, sgd_probe

__all__ = ['identifiability', 'knn', 'linear_probe', 'sgd_probe']

# Those that read the real-valued latents of the data; the others read a factor, an integer.
READ_LATENTS = ('identifiability',)
# Those that take several passes over the training images, in views of their own, as [v, n, d].
TAKE_PASSES = ('sgd_probe',)
# How many rows a rehearsal has.
FEW = 64


def score_of(name):
    """The name of the score of a protocol."""
    return 'mean_adjusted_r2' if name in READ_LATENTS else 'test_accuracy'


def knn(train, train_labels, test, test_labels, *, k=20, temperature=0.07):
    """`knn_accuracy` with its 95 % Wilson interval."""
    accuracy = knn_accuracy(train, train_labels, test, test_labels, k=k, temperature=temperature)
    low, high = wilson(round(accuracy * len(test_labels)), len(test_labels))
    return {
        'test_accuracy': accuracy,
        'test_accuracy_low': low,
        'test_accuracy_high': high,
    }


def identifiability(train, train_latents, test, test_latents, *, groups=None, held_out=False):
    """How much of each latent a linear map reads from the embeddings: `adjusted_r2`.

    Args:
      train: embeddings [n, d]; read where held_out alone.
      train_latents: float [n, k].
      test: embeddings [m, d], fresh draws, on which the map is fitted and scored as in the paper.
      test_latents: float [m, k].
      groups: dict of a name to columns of the latents, such as content and style.
      held_out: whether the map is fitted on the training rows and scored on the test rows.

    Returns:
      dict of floats: `mean_r2`, `mean_adjusted_r2` with `mean_adjusted_r2_low` and
      `mean_adjusted_r2_high`, <group>_r2 and <group>_adjusted_r2; `latent_<i>_adjusted_r2`;
      `regressors`. The 95 % interval takes the errors of the latents to go together, so that it is
      wide rather than narrow; with held_out, the draw of the rows that are fitted is not in it, and
      nothing is adjusted.

    Raises:
      BadInput: as `adjusted_r2`.

    Source: Rusak et al. 2022, Section 4; the public code fits and scores on the same draws.
    """
    share = None
    if held_out:
        share = len(train) / (len(train) + len(test))
        test, test_latents = (
            np.concatenate(sets) for sets in ((train, test), (train_latents, test_latents))
        )
    found = adjusted_r2(test, test_latents, groups=groups, train_share=share)
    each = {f'latent_{i}_adjusted_r2': r2 for i, r2 in enumerate(found.pop('adjusted_r2'))}
    del found['r2']
    error, middle = np.mean(found.pop('adjusted_r2_error')), found['mean_adjusted_r2']
    ends = {
        'mean_adjusted_r2_low': middle - NORMAL_95 * error,
        'mean_adjusted_r2_high': middle + NORMAL_95 * error,
    }
    return {name: float(value) for name, value in {**found, **ends, **each}.items()}


def rehearsal(name, options, *, train_rows, test_rows, features):
    """Options with which a protocol is tried on at most FEW rows of noise, in a moment.

    Args:
      name: of the protocol.
      options: of `config.evaluation`.
      train_rows: what the protocol will see.
      test_rows: likewise.
      features: d of the embeddings that it will see.

    Returns:
      dict of options: those given, but for what makes the protocol long or needs many rows.

    Raises:
      BadInput: an option that cannot be with so many rows or features.
    """
    parameters = inspect.signature(globals()[name]).parameters.values()
    own = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    for of, value in options.items():
        if isinstance(own[of], int | float) and not isinstance(value, int | float):
            raise BadInput(f'{of} is {value!r}; it must be a number.')
    full = own | options
    if name == 'knn':
        check_neighbours(full['k'], train_rows)
        return options | {'k': min(full['k'], FEW, train_rows)}
    if name == 'sgd_probe':
        chosen_recipe(*(full[of] for of in ('recipe', 'epochs', 'batch_size', 'learning_rate')))
        return options | {'epochs': 2}
    if name == 'identifiability':
        least = train_rows if full['held_out'] else test_rows
        if least < features + 2:
            raise BadInput(
                f'identifiability fits {features} features on {least} rows; it needs '
                f'{features + 2} at least.'
            )
    return options
