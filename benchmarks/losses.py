"""Losses beside the plain expression and beside peers: `python -m benchmarks.losses`.

A row is one implementation of one case: the time of value and gradient (the smallest of several
interleaved rounds), our time over its time (below 1 we are faster), and the temporary memory that
the compiler planned, also in units of the case's similarity matrix. `plain` is the expression one
would write with jnp. Peers that are not installed are left out. --cases=nt_xent_4096 picks some;
a case whose plain form does not fit in memory is only compiled unless it is picked.
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
from benchmarks.loss_peers import PEERS, compiled
from benchmarks.plain_losses import TEMPERATURE
from benchmarks.timing import interleaved
from contrastive_jax import losses

CASES = flags.DEFINE_list('cases', None, 'names of cases; default: all but the slow ones')
ROUNDS = flags.DEFINE_integer('rounds', 7, 'interleaved rounds; the smallest time counts')

ANCHORS, BANK, DIMENSIONS, BACKGROUND = 256, 50_000, 128, 4096  # of the bank losses
HARD, KAPPA = 4095, 2.2


@dataclasses.dataclass(frozen=True)
class Case:
    """Functions of the same arrays to a scalar: ours, the plain expression, peers."""

    arrays: Callable  # Makes them.
    ours: Callable
    plain: Callable
    matrix: tuple[int, int] | None = None  # Shape of the similarity matrix.
    peers: tuple[str, ...] = ()  # Names in PEERS.
    plain_fits: bool = True  # Otherwise ours alone: compiled, and run once where it is picked.
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


def multiview_arrays():
    """Anchors, bank, index, then anchors and bank of a second encoder."""
    anchors, bank, index = bank_arrays(3)
    return [anchors, bank, index, anchors[:, ::-1], bank[:, ::-1]]


def labelled_arrays():
    """Rows and their labels."""
    labels = np.random.default_rng(0).integers(0, 100, 4096, np.int32)
    return [*normal_arrays((4096, DIMENSIONS))(), labels]


def value_of(loss, **options):
    """The loss as a function of arrays to its value; arrays beyond the third are sets of ids."""

    def value(*arrays):
        sets = dict(zip(('background', 'close'), arrays[3:], strict=False))
        return loss(*arrays[:3], **sets, **options)[0]

    return value


def multiview_coding(anchors, bank, index, other_anchors, other_bank):
    """Contrastive multiview coding with the anchors first."""
    return losses.contrastive_multiview_coding(
        anchors, other_anchors, bank, other_bank, index, temperature=TEMPERATURE
    )[0]


def noise_contrastive(anchors, bank, index, noise):
    """The noise-contrastive form with the benchmark's kappa."""
    return losses.instance_discrimination_noise_contrastive(
        anchors, bank, index, temperature=TEMPERATURE, noise=noise, kappa=KAPPA
    )[0]


def nt_xent_case(rows, **options):
    """NT-Xent of `rows` rows in both views together, 128 dimensions."""
    ours = value_of(losses.nt_xent, temperature=TEMPERATURE)
    arrays = normal_arrays((rows // 2, DIMENSIONS), (rows // 2, DIMENSIONS))
    return Case(arrays, ours, plain_losses.nt_xent, matrix=(rows, rows), **options)


def hard_case(num_hard):
    """NT-Xent of 4,096 rows against the hardest negatives."""
    ours = value_of(losses.in_batch_hard, temperature=TEMPERATURE, num_hard=num_hard)
    plain = functools.partial(plain_losses.in_batch_hard, num_hard=num_hard)
    return Case(normal_arrays((2048, DIMENSIONS), (2048, DIMENSIONS)), ours, plain, (4096, 4096))


def bank_case(ours, plain, count=3, arrays=None):
    """Of the first `count` of `bank_arrays`; the bank itself is state, without gradient."""
    arrays = arrays or functools.partial(bank_arrays, count)
    return Case(arrays, ours, plain, matrix=(ANCHORS, BANK), gradients=1)


TEMPERED = functools.partial(value_of, temperature=TEMPERATURE)
TABLE = {
    # These two peers need memory that grows with the cube of the rows.
    'nt_xent_512': nt_xent_case(512, peers=('optax', 'lightly', 'pytorch-metric-learning')),
    'nt_xent_4096': nt_xent_case(4096, peers=('lightly',)),
    'nt_xent_16384': nt_xent_case(16384),
    'nt_xent_65536': nt_xent_case(65536, plain_fits=False),
    'nt_xent_1024_optax': nt_xent_case(1024, peers=('optax',), slow=True),
    'in_batch_hard_64': hard_case(64),
    'in_batch_hard_1024': hard_case(1024),
    'supcon_4096': Case(
        labelled_arrays, TEMPERED(losses.supcon), plain_losses.supcon, (4096, 4096), gradients=1
    ),
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
    'contrastive': bank_case(TEMPERED(losses.contrastive), plain_losses.contrastive),
    'instance_discrimination': bank_case(
        TEMPERED(losses.instance_discrimination), plain_losses.contrastive
    ),
    'noise_contrastive': bank_case(
        noise_contrastive, functools.partial(plain_losses.noise_contrastive, kappa=KAPPA), 4
    ),
    'simple_contrastive': bank_case(
        value_of(losses.simple_contrastive), plain_losses.simple_contrastive
    ),
    'hard_contrastive': bank_case(
        TEMPERED(losses.hard_contrastive, num_hard=HARD),
        functools.partial(plain_losses.hard_contrastive, num_hard=HARD),
    ),
    'hard_simple_contrastive': bank_case(
        value_of(losses.hard_simple_contrastive, num_hard=HARD),
        functools.partial(plain_losses.hard_simple_contrastive, num_hard=HARD),
    ),
    'ball': bank_case(TEMPERED(losses.ball), plain_losses.ball, 4),
    'annulus': bank_case(TEMPERED(losses.annulus), plain_losses.annulus, 5),
    'local_aggregation': bank_case(
        TEMPERED(losses.local_aggregation), plain_losses.local_aggregation, 5
    ),
    'multiview_coding': bank_case(
        multiview_coding, plain_losses.multiview_coding, arrays=multiview_arrays
    ),
}


def implementations(case, run):
    """Name to (call, temporary bytes); peers that cannot be imported are left out."""
    if not run:
        return {'ours': compiled(case.ours, jax.eval_shape(case.arrays), case.gradients)}
    arrays = [jnp.asarray(array) for array in case.arrays()]
    rows = {'ours': compiled(case.ours, arrays, case.gradients)}
    if case.plain_fits:
        rows['plain'] = compiled(case.plain, arrays, case.gradients)
    for name in case.peers:
        try:
            rows[name] = PEERS[name](arrays)
        except ImportError:
            continue
    return rows


def print_rows(name, case, rounds, picked):
    """Measures a case and prints its rows."""
    run = case.plain_fits or picked
    rows = implementations(case, run)
    times = {}
    if run:
        calls = {row: call for row, (call, _) in rows.items()}
        times = interleaved(calls, rounds if case.plain_fits else 1)
        times = {row: fastest for row, (fastest, _) in times.items()}
    for row, (_, temporaries) in rows.items():
        cells = [f'{1000 * times[row]:.1f}' if run else 'compiled']
        cells.append(f'{times["ours"] / times[row]:.2g}' if row != 'ours' else '')
        cells.append('' if temporaries is None else f'{temporaries / 2**20:,.1f}')
        matrices = temporaries is not None and case.matrix is not None
        cells.append(f'{temporaries / (4 * math.prod(case.matrix)):.2f}' if matrices else '')
        print_line(name if row == 'ours' else '', row, cells)


def print_line(case, implementation, cells):
    """One line of the table."""
    cells = ' '.join(f'{cell:>10}' for cell in cells)
    print(f'{case:<24} {implementation:<24} {cells}'.rstrip(), flush=True)


def main(argv):
    """Run the chosen cases and print the table as it grows."""
    if argv[1:]:
        raise app.UsageError(f'unexpected arguments {argv[1:]}')
    logging.set_verbosity(logging.WARNING)  # JAX tells of backends that are not there.
    chosen = CASES.value or [name for name, case in TABLE.items() if not case.slow]
    unknown = set(chosen) - set(TABLE)
    if unknown:
        raise app.UsageError(f'--cases has {sorted(unknown)}; valid: {", ".join(TABLE)}')
    print_line('case', 'implementation', ('ms', 'ours / it', 'MiB', 'matrices'))
    for name in chosen:
        print_rows(name, TABLE[name], ROUNDS.value, bool(CASES.value))


if __name__ == '__main__':
    app.run(main)
