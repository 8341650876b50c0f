"""Critics of pairs of features: projection heads, trained in one compiled loop."""

import functools

import jax
import jax.numpy as jnp
import optax

from contrastive_jax.losses import nt_xent
from contrastive_jax.losses.similarities import inner_products
from contrastive_jax.models.heads import projection_head


@functools.cache
def heads(features, width, dimensions, bound):
    """The head of each side, or one for both; the same objects for the same options.

    Args:
      features: dimensions of the two sides.
      width: of the hidden layer; None is as wide as the features.
      dimensions: of the projections.
      bound: 'nt_xent' (one head) or 'info_nce' (two).
    """
    make = projection_head(2, width, dimensions, batch_norm=False)
    return tuple(make(f) for f in (features[:1] if bound == 'nt_xent' else features))


@functools.partial(jax.jit, static_argnames=('count', 'size', 'num_batches'))
def batches(key, count, size, num_batches):
    """Places of whole batches [b, size], b >= num_batches: passes in which no row comes twice."""
    in_pass = count // size
    keys = jax.random.split(key, -(-num_batches // in_pass))
    orders = jax.lax.map(lambda k: jax.random.permutation(k, count)[: in_pass * size], keys)
    return orders.reshape(-1, size)


def _loss(heads, parameters, x, y):
    """L of one batch of pairs in nats: NT-Xent of one head, InfoNCE of two."""
    last = len(heads) - 1
    z1 = heads[0].apply(parameters['heads'][0], x, True)
    z2 = heads[last].apply(parameters['heads'][last], y, True)
    if len(heads) == 1:
        return nt_xent(z1, z2, temperature=jnp.exp(parameters['log_temperature']))[0]
    scores = inner_products(z1, z2)
    each_way = [jax.nn.logsumexp(scores, axis=axis) - jnp.diagonal(scores) for axis in (0, 1)]
    return jnp.mean(jnp.stack(each_way))


@functools.partial(jax.jit, static_argnames=('heads', 'learning_rate', 'learn_temperature'))
def train(heads, pairs, order, key, log_temperature, *, learning_rate, learn_temperature):
    """The critic after one step of Adam for each batch.

    Args:
      heads: of `heads`.
      pairs: (x [n, f], y [n, g]).
      order: of `batches`.
      key: of the parameters.
      log_temperature: what it starts from.
      learning_rate: of Adam.
      learn_temperature: whether the temperature is trained as well.

    Returns:
      A dict of `heads`, variables of each, and `log_temperature`.
    """
    variables = [
        head.init(jax.random.fold_in(key, side), pairs[side][:1], True)
        for side, head in enumerate(heads)
    ]
    parameters = {'heads': variables, 'log_temperature': log_temperature}
    adam = optax.adam(learning_rate)

    def loss_of(parameters, rows):
        if not learn_temperature:
            parameters = parameters | {'log_temperature': log_temperature}
        return _loss(heads, parameters, *(side[rows] for side in pairs))

    def step(carry, rows):
        parameters, state = carry
        gradient = jax.grad(loss_of)(parameters, rows)
        with jax.numpy_dtype_promotion('standard'):  # which optax needs
            change, state = adam.update(gradient, state)
            return (optax.apply_updates(parameters, change), state), None

    (parameters, _), _ = jax.lax.scan(step, (parameters, adam.init(parameters)), order)
    return parameters


@functools.partial(jax.jit, static_argnames='heads')
def measure(heads, parameters, pairs, order):
    """L of each batch of `order`, and the mean L of its two halves: [b, 2] in nats."""
    half = order.shape[1] // 2

    def of_batch(rows):
        x, y = (side[rows] for side in pairs)
        whole = _loss(heads, parameters, x, y)
        if half < 2:
            return jnp.stack([whole, jnp.zeros_like(whole)])  # one candidate is always right
        halves = (side[: 2 * half].reshape(2, half, -1) for side in (x, y))
        parts = jax.vmap(functools.partial(_loss, heads, parameters))(*halves)
        return jnp.stack([whole, jnp.mean(parts)])

    return jax.lax.map(of_batch, order)
