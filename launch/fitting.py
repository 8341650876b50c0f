"""One compilation of a config's train step for a slice, what it tells, and a batch that fits."""

import dataclasses
import re
import time

import jax
import numpy as np

from contrastive_jax.training import build, shapes, state, step
from launch import chips, compiler, flops, hlo, stand_in

# What the compiler says when a program is too large: of all of it, or of its temporaries alone.
TOO_LARGE = re.compile(
    r'Used ([\d.]+)([KMGT]) of ([\d.]+)([KMGT]) hbm'
    r'|temporaries \(([\d.]+)([KMGT])\) exceeds available HBM \(([\d.]+)([KMGT])\)'
)
UNITS = {'K': 2**10, 'M': 2**20, 'G': 2**30, 'T': 2**40}


@dataclasses.dataclass
class Compiled:
    """What one compilation tells.

    Attributes:
      place: the `chips.Slice`.
      batch_size: of all devices together.
      num_steps: of the config.
      flops: `launch.flops.Flops` of all devices together.
      image_bytes: of one decoded image.
      examples: in the training split.
      needed: bytes of HBM of a device.
      available: those that there are.
      memory: the parts of `needed` by name; {} if the compiler gave up before it knew them.
      collectives: a list of `launch.hlo.Collective`, and `traffic`, bytes of HBM that a device
        reads and writes in a step; None for a program that does not fit.
      seconds: that the compilation took.
      processor_seconds: the same of all cores together, which other work does not change.
    """

    place: chips.Slice
    batch_size: int
    num_steps: int
    flops: tuple
    image_bytes: int
    examples: int
    needed: int
    available: int
    memory: dict
    collectives: list | None
    traffic: int | None
    seconds: float
    processor_seconds: float

    @property
    def fits(self):
        """Whether a device has the memory."""
        return self.needed <= self.available


def compile_step(config, place):
    """Compiles the train step of a config for a `chips.Slice`.

    Returns:
      `Compiled`.

    Raises:
      BadInput: a config that cannot be.
    """
    mesh = compiler.mesh_of(place)
    experiment = build.build(config, mesh, open_source=stand_in.open_source)
    arguments = (
        state.state_shapes(experiment),
        shapes.train_batch_shapes(experiment, config.batch_size),
        experiment.train_tables,
        jax.eval_shape(lambda: experiment.seed_key),
    )
    started, started_processor = time.monotonic(), time.process_time()
    with jax.set_mesh(mesh):
        traced = step.jit_train_step(experiment).trace(*arguments)
        try:
            program = traced.lower().compile()
        except jax.errors.JaxRuntimeError as error:
            program, own = None, argument_bytes(*arguments[:2], mesh.size)
            needed, available = memory_in(str(error), own)
    memory, text = {}, None
    if program:
        text = program.as_text()
        memory = memory_parts(program.memory_analysis())
        needed, available = sum(memory.values()), place.memory_per_device
    return Compiled(
        place=place,
        batch_size=config.batch_size,
        num_steps=config.num_steps,
        flops=flops.flops_of(traced.jaxpr),
        image_bytes=int(np.prod(experiment.train.source.image_shape)),
        examples=len(experiment.train.source),
        needed=needed,
        available=available,
        memory=memory,
        collectives=hlo.collectives_in(text) if text else None,
        traffic=hlo.memory_traffic(text) if text else None,
        seconds=time.monotonic() - started,
        processor_seconds=time.process_time() - started_processor,
    )


def argument_bytes(replicated, split, devices):
    """Bytes of a device for trees of shapes that it has whole and that it has a share of."""
    whole, shared = (
        sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))
        for tree in (replicated, split)
    )
    return whole + shared // devices


def memory_parts(analysis):
    """Bytes of HBM of a device by what they are for, from the compiler's analysis."""
    return {
        'arguments': analysis.argument_size_in_bytes,
        'results beside them': analysis.output_size_in_bytes - analysis.alias_size_in_bytes,
        'temporaries': analysis.temp_size_in_bytes,
        'code': analysis.generated_code_size_in_bytes,
    }


def memory_in(message, arguments):
    """Bytes needed and available, from what the compiler says of a program that is too large.

    Args:
      message: the compiler's.
      arguments: bytes of the arguments of a device.
    """
    if not (found := TOO_LARGE.search(message)):
        raise RuntimeError(f'The compiler failed: {message}')
    of_all, of_temporaries = found.groups()[:4], found.groups()[4:]
    needed, unit, available, unit_available = of_all if of_all[0] else of_temporaries
    needed, available = float(needed) * UNITS[unit], float(available) * UNITS[unit_available]
    return needed + (0 if of_all[0] else arguments), available


def largest_batch(config, place, too_large, compile_at):
    """A batch that fits where one larger by an eighth does not, in about four more compilations.

    Halved again and again, a batch fits at last; the memory taken as linear from there to the last
    that does not gives the next to try. But near its limit the compiler computes again what it
    would else keep, and more fits than the line says: so the search goes on from there.

    Args:
      config: a ConfigDict.
      place: a `chips.Slice`.
      too_large: the `Compiled` of the config.
      compile_at: (batch size) -> `Compiled`.

    Returns:
      The batch size, or 0 if not even one example a device fits.
    """
    unit = place.devices * config.optimizer.get('accumulate', 1)
    while True:
        half = too_large.batch_size // 2 // unit * unit
        if not half:
            return 0
        fitting = compile_at(half)
        if fitting.fits:
            break
        too_large = fitting
    candidate = linear_estimate(fitting, too_large, unit)
    fits, too_many = fitting.batch_size, too_large.batch_size
    while fits < candidate < too_many:
        if compile_at(candidate).fits:
            fits = candidate
        else:
            too_many = candidate
        if 8 * (too_many - fits) <= fits:
            break
        candidate = min((fits + too_many) // 2, -(-9 * fits // 8)) // unit * unit
    return fits


def linear_estimate(fitting, too_large, unit):
    """The multiple of `unit` at which the line through two compilations reaches the memory."""
    slope = (too_large.needed - fitting.needed) / (too_large.batch_size - fitting.batch_size)
    more = (min(fitting.available, too_large.available) - fitting.needed) / slope
    estimate = int((fitting.batch_size + more) // unit) * unit
    return max(fitting.batch_size, min(estimate, too_large.batch_size - unit))
