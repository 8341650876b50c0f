"""Losses beside the plain expression and beside peers: `python -m benchmarks.losses`.

A row is one implementation of one case: seconds of value and gradient (the smallest of several
interleaved rounds), its ratio to the case's plain jnp expression, and the temporary memory that
the compiler planned. Peers that are not installed are left out. --cases=nt_xent_4096 picks some.
"""

import dataclasses
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from absl import app, flags, logging

from contrastive_jax import losses
from contrastive_jax.losses import similarities

CASES = flags.DEFINE_list('cases', None, 'names of cases; default: all but the slow ones')
ROUNDS = flags.DEFINE_integer('rounds', 7, 'interleaved rounds; the smallest time counts')

TEMPERATURE = 0.1


@dataclasses.dataclass(frozen=True)
class Case:
    """Arrays, and functions of them to a scalar: ours, the plain expression, peers."""

    shapes: tuple[tuple[int, ...], ...]
    ours: Callable
    plain: Callable
    peers: tuple[str, ...] = ()  # Names in PEERS.
    compile_only: bool = False
    slow: bool = False
    gradients: int = 2  # How many of the arrays are differentiated.


def plain_nt_xent(z1, z2):
    """The whole matrix, as one would write it."""
    rows = jnp.concatenate([z1, z2])
    rows = rows / jnp.linalg.norm(rows, axis=1, keepdims=True)
    logits = jnp.matmul(rows, rows.T, precision=similarities.PRECISION) / TEMPERATURE
    logits = jnp.where(jnp.eye(len(rows), dtype=bool), -jnp.inf, logits)
    pairs = len(z1)
    positive = jnp.concatenate([jnp.diagonal(logits, pairs), jnp.diagonal(logits, -pairs)])
    return jnp.mean(jax.nn.logsumexp(logits, axis=1) - positive)


def plain_box_info_nce(anchors, positives):
    """The whole [n, n, d] array of differences, as one would write it."""
    differences = jnp.sum(jnp.square(anchors[:, None] - anchors[None]), axis=-1)
    align = jnp.sum(jnp.square(anchors - positives), axis=-1)
    logits = jnp.where(jnp.eye(len(anchors), dtype=bool), -align[:, None], -differences)
    return jnp.mean(align + jax.nn.logsumexp(logits, axis=1))


def plain_sliced_wasserstein(samples, prior_samples, projections):
    """Two sorts of columns, as one would write it."""
    values, prior_values = (
        jnp.sort(jnp.matmul(rows, projections, precision=similarities.PRECISION), axis=0)
        for rows in (samples, prior_samples)
    )
    return jnp.mean(jnp.square(values - prior_values))


def our_nt_xent(z1, z2):
    """The library's, value only."""
    return losses.nt_xent(z1, z2, temperature=TEMPERATURE)[0]


def our_box_info_nce(anchors, positives):
    """The library's, value only."""
    return losses.box_info_nce(anchors, positives, temperature=1.0)[0]


def optax_nt_xent(arrays):
    """Optax: labels in place of pairs; compiled like ours."""
    import optax

    def function(z1, z2):
        labels = jnp.tile(jnp.arange(len(z1)), 2)
        return optax.losses.ntxent(jnp.concatenate([z1, z2]), labels, temperature=TEMPERATURE)

    return _compiled(function, arrays, 2)


def lightly_nt_xent(arrays):
    """Lightly's NTXentLoss in PyTorch, forward and backward."""
    from lightly.loss import NTXentLoss

    return _torch(NTXentLoss(temperature=TEMPERATURE), arrays)


def metric_learning_nt_xent(arrays):
    """pytorch-metric-learning's NTXentLoss, forward and backward."""
    import torch
    from pytorch_metric_learning.losses import NTXentLoss

    loss = NTXentLoss(temperature=TEMPERATURE)
    labels = torch.arange(len(arrays[0])).repeat(2)
    return _torch(lambda z1, z2: loss(torch.cat([z1, z2]), labels), arrays)


def ott_sliced_wasserstein(arrays):
    """OTT's sliced Wasserstein distance, given our directions."""
    from ott.tools import sliced

    def function(samples, prior_samples, projections):
        def project(rows):
            return jnp.matmul(rows, projections, precision=similarities.PRECISION)

        return sliced.sliced_wasserstein(samples, prior_samples, proj_fn=project)[0]

    return _compiled(function, arrays, 1)


def pot_sliced_wasserstein(arrays):
    """POT's sliced Wasserstein distance in PyTorch, squared, given our directions."""
    import ot
    import torch

    projections = torch.tensor(np.asarray(arrays[2]))

    def function(samples, prior_samples):
        distance = ot.sliced_wasserstein_distance(samples, prior_samples, projections=projections)
        return distance**2

    return _torch(function, arrays[:2])


PEERS = {
    'optax': optax_nt_xent,
    'lightly': lightly_nt_xent,
    'pytorch-metric-learning': metric_learning_nt_xent,
    'ott-jax': ott_sliced_wasserstein,
    'pot': pot_sliced_wasserstein,
}


def nt_xent_case(rows, **options):
    """NT-Xent of `rows` rows in both views together, 128 dimensions."""
    return Case(((rows // 2, 128),) * 2, our_nt_xent, plain_nt_xent, **options)


TABLE = {
    'nt_xent_512': nt_xent_case(512, peers=('optax', 'lightly', 'pytorch-metric-learning')),
    'nt_xent_4096': nt_xent_case(4096, peers=('lightly', 'pytorch-metric-learning')),
    'nt_xent_16384': nt_xent_case(16384),
    'nt_xent_65536': nt_xent_case(65536, compile_only=True),
    'nt_xent_2048_optax': nt_xent_case(2048, peers=('optax',), slow=True),
    'box_info_nce_2048': Case(((2048, 10),) * 2, our_box_info_nce, plain_box_info_nce),
    'sliced_wasserstein': Case(
        ((2048, 64), (2048, 64), (64, 64)),
        losses.sliced_wasserstein,
        plain_sliced_wasserstein,
        peers=('ott-jax', 'pot'),
        gradients=1,
    ),
}


def _compiled(function, arrays, gradients):
    """Call that runs value and gradient and waits, and the planned temporary bytes."""
    step = jax.jit(jax.value_and_grad(function, tuple(range(gradients))))
    program = step.lower(*arrays).compile()
    temporaries = program.memory_analysis().temp_size_in_bytes
    return lambda: jax.block_until_ready(program(*arrays)), temporaries


def _torch(function, arrays):
    """As `_compiled` for PyTorch, which plans no memory ahead."""
    import torch

    tensors = [torch.tensor(np.asarray(array), requires_grad=True) for array in arrays]

    def call():
        loss = function(*tensors)
        torch.autograd.grad(loss, tensors)
        return loss

    return call, None


def implementations(case):
    """Name to (call, temporary bytes); peers that cannot be imported are left out."""
    draw = np.random.default_rng(0).standard_normal
    if case.compile_only:
        arrays = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in case.shapes]
        return {'ours': _compiled(case.ours, arrays, case.gradients)}
    arrays = [jnp.asarray(draw(shape), jnp.float32) for shape in case.shapes]
    rows = {
        'plain': _compiled(case.plain, arrays, case.gradients),
        'ours': _compiled(case.ours, arrays, case.gradients),
    }
    for name in case.peers:
        try:
            rows[name] = PEERS[name](arrays)
        except ImportError:
            continue
    return rows


def seconds(calls, rounds):
    """The smallest time of each call over interleaved rounds, after one round to warm up."""
    times = {name: [] for name in calls}
    for _ in range(rounds + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: min(values[1:]) for name, values in times.items()}


def main(argv):
    """Run the chosen cases and print the table as it grows."""
    if argv[1:]:
        raise app.UsageError(f'unexpected arguments {argv[1:]}')
    logging.set_verbosity(logging.WARNING)  # JAX tells of backends that are not there.
    chosen = CASES.value or [name for name, case in TABLE.items() if not case.slow]
    unknown = set(chosen) - set(TABLE)
    if unknown:
        raise app.UsageError(f'--cases has {sorted(unknown)}; valid: {", ".join(TABLE)}')
    print(f'{"case":<22} {"implementation":<24} {"seconds":>9} {"to plain":>9} {"MiB":>9}')
    for name in chosen:
        rows = implementations(TABLE[name])
        calls = {row: call for row, (call, _) in rows.items()}
        times = {} if TABLE[name].compile_only else seconds(calls, ROUNDS.value)
        for row, (_, temporaries) in rows.items():
            taken = f'{times[row]:9.4f} {times[row] / times["plain"]:9.2f}' if times else ' ' * 19
            memory = '' if temporaries is None else f'{temporaries / 2**20:9.1f}'
            print(f'{name:<22} {row:<24} {taken} {memory:>9}', flush=True)


if __name__ == '__main__':
    app.run(main)
