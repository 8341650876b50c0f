"""Losses beside the plain expression and beside peers: `python -m benchmarks.losses`.

A row is one implementation of one case: seconds of value and gradient (the smallest of several
interleaved rounds), its ratio to the case's plain jnp expression, and the temporary memory that
the compiler planned, also in units of the case's similarity matrix. Peers that are not installed
are left out. --cases=nt_xent_4096 picks some.
"""

import dataclasses
import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from absl import app, flags, logging

from benchmarks import plain_losses
from benchmarks.plain_losses import TEMPERATURE
from benchmarks.timing import interleaved
from contrastive_jax import losses
from contrastive_jax.losses import similarities

CASES = flags.DEFINE_list('cases', None, 'names of cases; default: all but the slow ones')
ROUNDS = flags.DEFINE_integer('rounds', 7, 'interleaved rounds; the smallest time counts')

ANCHORS, BANK, DIMENSIONS, BACKGROUND = 256, 50_000, 128, 4096  # of the bank losses


@dataclasses.dataclass(frozen=True)
class Case:
    """Functions of the same arrays to a scalar: ours, the plain expression, peers."""

    arrays: Callable  # Makes them.
    ours: Callable
    plain: Callable
    matrix: tuple[int, int] | None = None  # Shape of the similarity matrix.
    peers: tuple[str, ...] = ()  # Names in PEERS.
    compile_only: bool = False
    slow: bool = False
    gradients: int = 2  # How many of the arrays are differentiated.


def normal_arrays(*shapes):
    """A function that draws arrays of these shapes."""

    def draw():
        random = np.random.default_rng(0)
        return [random.standard_normal(shape, np.float32) for shape in shapes]

    return draw


def bank_arrays(count):
    """The first `count` of anchors, bank, index, background and close set (a tenth of it)."""
    random = np.random.default_rng(0)
    anchors, bank = (
        rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for rows in normal_arrays((ANCHORS, DIMENSIONS), (BANK, DIMENSIONS))()
    )
    index = random.permutation(BANK)[:ANCHORS].astype(np.int32)
    background = random.integers(0, BANK, (ANCHORS, BACKGROUND), np.int32)
    close = np.where(random.random(background.shape) < 0.1, background, -1).astype(np.int32)
    return [anchors, bank, index, background, close][:count]


def value_of(loss, **options):
    """The loss as a function of arrays to its value; arrays beyond the third are sets of ids."""

    def value(*arrays):
        sets = dict(zip(('background', 'close'), arrays[3:], strict=False))
        return loss(*arrays[:3], **sets, **options)[0]

    return value


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
    ours = value_of(losses.nt_xent, temperature=TEMPERATURE)
    arrays = normal_arrays((rows // 2, DIMENSIONS), (rows // 2, DIMENSIONS))
    return Case(arrays, ours, plain_losses.nt_xent, matrix=(rows, rows), **options)


def bank_case(loss, count, plain, **options):
    """A loss of the first `count` of `bank_arrays`; the bank itself is state, without gradient."""
    ours = value_of(loss, temperature=TEMPERATURE, **options)
    plain = functools.partial(plain, **options)
    arrays = functools.partial(bank_arrays, count)
    return Case(arrays, ours, plain, matrix=(ANCHORS, BANK), gradients=1)


TABLE = {
    'nt_xent_512': nt_xent_case(512, peers=('optax', 'lightly', 'pytorch-metric-learning')),
    'nt_xent_4096': nt_xent_case(4096, peers=('lightly', 'pytorch-metric-learning')),
    'nt_xent_16384': nt_xent_case(16384),
    'nt_xent_65536': nt_xent_case(65536, compile_only=True),
    'nt_xent_2048_optax': nt_xent_case(2048, peers=('optax',), slow=True),
    'box_info_nce_2048': Case(
        normal_arrays((2048, 10), (2048, 10)),
        value_of(losses.box_info_nce, temperature=1.0),
        plain_losses.box_info_nce,
        matrix=(2048, 2048),
    ),
    'sliced_wasserstein': Case(
        normal_arrays((2048, 64), (2048, 64), (64, 64)),
        losses.sliced_wasserstein,
        plain_losses.sliced_wasserstein,
        peers=('ott-jax', 'pot'),
        gradients=1,
    ),
    'contrastive': bank_case(losses.contrastive, 3, plain_losses.contrastive),
    'hard_contrastive': bank_case(
        losses.hard_contrastive, 3, plain_losses.hard_contrastive, num_hard=4095
    ),
    'ball': bank_case(losses.ball, 4, plain_losses.ball),
    'local_aggregation': bank_case(losses.local_aggregation, 5, plain_losses.local_aggregation),
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
    if case.compile_only:
        return {'ours': _compiled(case.ours, jax.eval_shape(case.arrays), case.gradients)}
    arrays = [jnp.asarray(array) for array in case.arrays()]
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


def print_rows(name, case, rounds):
    """Measures a case and prints its rows."""
    rows = implementations(case)
    times = {}
    if not case.compile_only:
        times = interleaved({row: call for row, (call, _) in rows.items()}, rounds)
        times = {row: fastest for row, (fastest, _) in times.items()}
    for row, (_, temporaries) in rows.items():
        taken = f'{times[row]:9.4f} {times[row] / times["plain"]:9.2f}' if times else ' ' * 19
        memory = '' if temporaries is None else f'{temporaries / 2**20:9.1f}'
        if memory and case.matrix:
            memory += f' {temporaries / (4 * math.prod(case.matrix)):9.2f}'
        print(f'{name:<22} {row:<24} {taken} {memory}'.rstrip(), flush=True)


def main(argv):
    """Run the chosen cases and print the table as it grows."""
    if argv[1:]:
        raise app.UsageError(f'unexpected arguments {argv[1:]}')
    logging.set_verbosity(logging.WARNING)  # JAX tells of backends that are not there.
    chosen = CASES.value or [name for name, case in TABLE.items() if not case.slow]
    unknown = set(chosen) - set(TABLE)
    if unknown:
        raise app.UsageError(f'--cases has {sorted(unknown)}; valid: {", ".join(TABLE)}')
    columns = ('seconds', 'to plain', 'MiB', 'matrices')
    print(f'{"case":<22} {"implementation":<24} ' + ' '.join(f'{c:>9}' for c in columns))
    for name in chosen:
        print_rows(name, TABLE[name], ROUNDS.value)


if __name__ == '__main__':
    app.run(main)
