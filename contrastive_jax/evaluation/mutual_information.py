"""Mutual information between the two sides of pairs, from their frozen features."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import critics
from contrastive_jax.evaluation.information_ceilings import (
    CANDIDATES,
    SATURATION,
    ceilings,
    near_a_ceiling,
)
from contrastive_jax.evaluation.intervals import NORMAL_95
from contrastive_jax.evaluation.rows import checked_rows
from contrastive_jax.losses.mutual_information import UNITS


def estimate_mutual_information(
    train_pairs,
    test_pairs,
    *,
    key,
    num_pairs=256,
    temperature=0.1,
    learn_temperature=False,
    bound='nt_xent',
    width=None,
    dimensions=128,
    num_steps=5000,
    learning_rate=1e-3,
    num_batches=100,
):
    """Post-training estimate: a new critic is trained on features of an encoder that is frozen.

      I(X; Y) >= log(2K - 1) - L     'nt_xent': one projection head for both sides, cosines / tau
      I(X; Y) >= log K - L           'info_nce': a head for each side and their inner product

    with L over held-out batches of K pairs that the critic did not see. The critic is a projection
    head of two layers without batch norm, on features standardised by the training pairs. The
    second bound is strict; with the first, whose candidates come in pairs, the estimate may exceed
    the truth by some thousandths. Both stop at a ceiling: at the logarithm, and the first at what
    cosines over tau can tell apart, `ideal_class_estimate(math.inf, K, temperature=tau)`.

    Args:
      train_pairs: features (x [n, f], y [n, f]) of the two sides; row i of both is a pair. How
        pairs are made decides what is estimated; see `class_pairs`.
      test_pairs: (x [m, f], y [m, f]), held out. For 'info_nce' y may have another dimension.
      key: of the critic's parameters and the order of the batches.
      num_pairs: K >= 2, at most n and m / 2.
      temperature: tau > 0 of 'nt_xent', or what it starts from.
      learn_temperature: whether it is trained with the critic.
      bound: 'nt_xent' or 'info_nce'.
      width: of the hidden layer; None is as wide as the features.
      dimensions: of the projections.
      num_steps: of Adam.
      learning_rate: of Adam.
      num_batches: held-out batches, at least 100; rounded up to whole passes over the pairs.

    Returns:
      A dict of floats:
        nats, nats_low, nats_high: held-out estimate and its 95 % interval, for the given pairs as
          independent draws, which no two that share a row are; standard_error, in nats;
        bits, bits_low, bits_high: the same in bits;
        train_nats, train_bits: of as many batches of training pairs. Far above the held-out value,
          the critic knows them by heart: take more pairs or fewer steps;
        half_nats: the held-out estimate with K / 2 pairs, from the halves of the same batches;
        ceiling_nats, ceiling_bits: log(2K - 1), or log K;
        temperature_ceiling_nats, temperature_ceiling_bits: what the temperature allows, NaN for
          'info_nce';
        saturated: 1.0 where K or tau may decide more than the features do: the estimate is within
          5 % of a ceiling, or (with 95 % confidence) more than 5 % of it came with the second
          half of the pairs; else 0.0;
        num_pairs, temperature (NaN for 'info_nce'), num_batches: as used.

    Raises:
      BadInput: pairs whose rows do not match or are not finite, more pairs in a batch than there
        are, fewer than 100 batches, an option out of its range, a rate at which critics diverge.

    Source: Lee 2023, Eq. 4 and Section III-C; 'info_nce': Wu 2020, Eq. 6. Steps, rate and
    temperature are not in the paper.
    """
    _check_options(bound, num_pairs, temperature, num_steps, learning_rate, num_batches)
    if bound == 'info_nce' and learn_temperature:
        raise BadInput('learn_temperature is True, but info_nce has no temperature to learn.')
    if dimensions < 1 or (width is not None and width < 1):
        raise BadInput(f'width is {width} and dimensions {dimensions}; each must be at least 1.')
    train, test = _checked_pairs(train_pairs, test_pairs, bound, num_pairs)
    train, test = _standardized(train, test)
    parameters_key, *order_keys = jax.random.split(key, 4)
    heads = critics.heads(tuple(side.shape[1] for side in train), width, dimensions, bound)
    order = critics.batches(order_keys[0], len(train[0]), num_pairs, num_steps)[:num_steps]
    parameters = critics.train(
        heads,
        train,
        order,
        parameters_key,
        jnp.float32(math.log(temperature)),
        learning_rate=float(learning_rate),
        learn_temperature=learn_temperature,
    )
    losses = {}
    for name, pairs, order_key in (('train', train, order_keys[1]), ('test', test, order_keys[2])):
        order = critics.batches(order_key, len(pairs[0]), num_pairs, num_batches)
        losses[name] = np.asarray(critics.measure(heads, parameters, pairs, order), np.float64)
        if not np.isfinite(losses[name]).all():
            raise BadInput(f'the critic is not finite after training at rate {learning_rate}.')
    learned = math.exp(float(parameters['log_temperature']))
    temperature = learned if bound == 'nt_xent' else math.nan
    found = _summary(losses, len(test[0]) // num_pairs, bound, num_pairs, temperature)
    return found | {
        'num_pairs': float(num_pairs),
        'temperature': temperature,
        'num_batches': float(len(losses['test'])),
    }


def mutual_information_of_loss(loss, *, num_pairs, temperature=None):
    """The estimate during training, from the loss that is minimised: I >= log(2K - 1) - L.

    Args:
      loss: value of `losses.nt_xent` in nats, a number.
      num_pairs: K, of the batch: with global negatives, the batch of all devices.
      temperature: tau of the loss, for its ceiling; None leaves that out.

    Returns:
      A dict of `nats`, `bits`, `ceiling_nats`, `ceiling_bits`, `temperature_ceiling_nats`,
      `temperature_ceiling_bits` (NaN without a temperature) and `saturated`, 1.0 within 5 % of a
      ceiling, else 0.0; all as in `estimate_mutual_information`.

    Raises:
      BadInput: a loss that is not a finite number, K below 2, a temperature that is not positive.

    Source: Lee 2023, Eq. 4.
    """
    if np.ndim(loss) or not math.isfinite(loss):
        raise BadInput(f'loss must be one finite number, got {loss}.')
    if num_pairs < 2:
        raise BadInput(f'num_pairs is {num_pairs}; it must be at least 2.')
    if temperature is not None and not temperature > 0:
        raise BadInput(f'temperature is {temperature}; it must be positive.')
    limits = ceilings('nt_xent', num_pairs, math.nan if temperature is None else temperature)
    nats = math.log(2 * num_pairs - 1) - float(loss)
    saturated = float(near_a_ceiling(nats, limits))
    return _with_bits({'nats': nats, **limits}) | {'saturated': saturated}


def _check_options(bound, num_pairs, temperature, num_steps, learning_rate, num_batches):
    if bound not in CANDIDATES:
        raise BadInput(f'bound is {bound!r}, not one of: {", ".join(CANDIDATES)}.')
    for name, value, least in (
        ('num_pairs', num_pairs, 2),
        ('num_steps', num_steps, 1),
        ('num_batches', num_batches, 100),
    ):
        if value < least:
            raise BadInput(f'{name} is {value}; it must be at least {least}.')
    for name, value in (('temperature', temperature), ('learning_rate', learning_rate)):
        if not value > 0:
            raise BadInput(f'{name} is {value}; it must be positive.')


def _checked_pairs(train_pairs, test_pairs, bound, num_pairs):
    """Both sets of pairs as tuples of arrays [n, f], or BadInput."""
    sets = []
    for name, pairs, batches in (('train', train_pairs, 1), ('test', test_pairs, 2)):
        if len(pairs) != 2:
            raise BadInput(f'{name}_pairs must be (x, y), got {len(pairs)} arrays.')
        x, y = (
            checked_rows(rows, f'{name} features of {side}')
            for side, rows in zip('xy', pairs, strict=True)
        )
        if len(x) != len(y):
            raise BadInput(f'{name}_pairs have {len(x)} rows of x and {len(y)} of y.')
        if len(x) < batches * num_pairs:
            raise BadInput(
                f'num_pairs is {num_pairs}, which needs {batches * num_pairs} {name} pairs or '
                f'more; there are {len(x)}.'
            )
        sets.append((x, y))
    (x, y), (test_x, test_y) = sets
    if x.shape[1] != test_x.shape[1] or y.shape[1] != test_y.shape[1]:
        raise BadInput(
            f'train features have {x.shape[1]} and {y.shape[1]} dimensions, test features '
            f'{test_x.shape[1]} and {test_y.shape[1]}; they must be equal.'
        )
    if bound == 'nt_xent' and x.shape[1] != y.shape[1]:
        raise BadInput(
            f'x and y have {x.shape[1]} and {y.shape[1]} dimensions; nt_xent has one critic for '
            "both, so take bound='info_nce'."
        )
    return sets


def _standardized(train, test):
    """Both sets by the mean and deviation of the training rows; float32."""
    shared = train[0].shape[1] == train[1].shape[1]  # sides of one kind are scaled alike
    scaled = []
    for side in range(2):
        rows = (np.concatenate(train) if shared else train[side]).astype(np.float64)
        mean, deviation = rows.mean(axis=0), rows.std(axis=0)
        # A constant dimension says nothing; dividing by its zero deviation would say NaN.
        deviation = np.where(deviation > 1e-6 * (1e-30 + np.abs(mean)), deviation, np.inf)
        scaled.append(
            [jnp.asarray((s[side] - mean) / deviation, jnp.float32) for s in (train, test)]
        )
    return tuple(zip(*scaled, strict=True))


def _summary(losses, batches_in_pass, bound, num_pairs, temperature):
    """The estimates, their intervals and ceilings from the losses of train and test batches."""
    most = np.log([CANDIDATES[bound](k) for k in (num_pairs, num_pairs // 2)])
    estimates = {name: most - rows for name, rows in losses.items()}
    nats, half = estimates['test'].mean(axis=0)
    # Batches of one pass share no pair, those of different passes do: the variance is that within
    # passes, and more passes than one do not make the interval narrower.
    passes = estimates['test'].reshape(-1, batches_in_pass, 2)
    error = math.sqrt(passes[..., 0].var(axis=1, ddof=1).mean() / batches_in_pass)
    growth = passes[..., 0] - passes[..., 1]
    growth_error = math.sqrt(growth.var(axis=1, ddof=1).mean() / batches_in_pass)
    limits = ceilings(bound, num_pairs, temperature)
    grows = growth.mean() - NORMAL_95 * growth_error > SATURATION * max(nats, 0)
    return _with_bits(
        {
            'nats': float(nats),
            'nats_low': float(nats - NORMAL_95 * error),
            'nats_high': float(nats + NORMAL_95 * error),
            'train_nats': float(estimates['train'][:, 0].mean()),
            'half_nats': float(half),
            **limits,
        }
    ) | {
        'standard_error': error,
        'saturated': float(near_a_ceiling(nats, limits) or grows),
    }


def _with_bits(found):
    """The dict with each `...nats` also as `...bits`."""
    bits = {name.replace('nats', 'bits'): nats / UNITS['bits'] for name, nats in found.items()}
    return found | bits
