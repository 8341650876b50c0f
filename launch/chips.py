"""TPU chips and their slices, as published.

Sources, by chip:
  v2, v3     Jouppi et al. 2020, A Domain-Specific Supercomputer for Training Deep Neural Networks
             (peaks, memory, four links of 496 and 656 Gbit/s); for v3 also
             https://cloud.google.com/tpu/docs/v3
  v4         https://cloud.google.com/tpu/docs/v4; its links: Jouppi et al. 2023 (six of 50 GB/s)
  v5e, v6e   https://cloud.google.com/tpu/docs/v5e and /v6e
  v5p        https://cloud.google.com/tpu/docs/v5p
The pages give the bandwidth between chips for both directions together: half of it is sent. The row
of v2, the links of v2 to v4 and the slices of v2 and v3 were not looked up again in those papers.
"""

import math
import re
from typing import NamedTuple

from contrastive_jax import names
from contrastive_jax.errors import BadInput

GIB = 2**30
TERA, GIGA = 1e12, 1e9


class Chip(NamedTuple):
    """One generation of TPU.

    Attributes:
      memory: bytes of HBM a chip.
      flops: peak a second of bfloat16 products, a chip.
      memory_bandwidth: bytes a second between HBM and the chip.
      link_bandwidth: bytes a second that a chip can send to its neighbours, all links together.
      devices: JAX devices a chip: 2 where each TensorCore is one (v2 and v3).
      slices: the topologies in chips that can be had.
      cubes: the most chips of a slice whose sides are all multiples of 4, where those can be had
        besides; 0 if they cannot.
    """

    memory: int
    flops: float
    memory_bandwidth: float
    link_bandwidth: float
    devices: int
    slices: tuple[str, ...]
    cubes: int = 0


FLAT = ('1x1', '2x2', '2x4', '4x4', '4x8', '8x8', '8x16', '16x16')
BELOW_A_CUBE = ('2x2x1', '2x2x2', '2x2x4', '2x4x4')

CHIPS = {
    'v2': Chip(
        16 * GIB, 46 * TERA, 700 * GIGA, 248 * GIGA, 2, ('2x2', '4x4', '8x8', '8x16', '16x16')
    ),
    'v3': Chip(
        32 * GIB, 123 * TERA, 900 * GIGA, 328 * GIGA, 2,
        ('2x2', '4x4', '8x8', '8x16', '16x16', '16x32', '32x32'),
    ),
    'v4': Chip(32 * GIB, 275 * TERA, 1200 * GIGA, 300 * GIGA, 1, BELOW_A_CUBE, cubes=4096),
    'v5e': Chip(16 * GIB, 197 * TERA, 819 * GIGA, 200 * GIGA, 1, FLAT),
    'v5p': Chip(95 * GIB, 459 * TERA, 2765 * GIGA, 600 * GIGA, 1, BELOW_A_CUBE, cubes=6144),
    'v6e': Chip(32 * GIB, 918 * TERA, 1640 * GIGA, 400 * GIGA, 1, FLAT),
}  # fmt: skip

# The virtual machines of all chips hold 2 x 2 chips, but for these slices, which are one machine.
ONE_MACHINE = {'1x1': (1, 1, 1), '2x4': (2, 4, 1)}


class Slice(NamedTuple):
    """A slice of chips.

    Attributes:
      name: such as 'v5e:4x4'.
      chip: a `Chip`.
      chips: how many.
      chips_per_worker: chips of one virtual machine, which runs one process.
      bounds: those chips along x, y, z.
    """

    name: str
    chip: Chip
    chips: int
    chips_per_worker: int
    bounds: tuple[int, int, int]

    @property
    def workers(self):
        """Number of virtual machines."""
        return self.chips // self.chips_per_worker

    @property
    def devices(self):
        """Number of JAX devices."""
        return self.chips * self.chip.devices

    @property
    def memory_per_device(self):
        """Bytes of HBM of a JAX device."""
        return self.chip.memory // self.chip.devices


def slice_of(topology):
    """The slice that 'v5e:4x4' names.

    Raises:
      BadInput: no such chip or slice; the sentence lists those that there are.
    """
    kind, _, shape = topology.partition(':')
    if kind not in CHIPS:
        raise BadInput(
            f'--topology is {topology!r}; a topology is a chip ({", ".join(CHIPS)}) and its slice, '
            "as in 'v5e:4x4'." + names.nearest(kind, CHIPS)
        )
    chip = CHIPS[kind]
    if shape not in chip.slices and not is_cubes(shape, chip.cubes):
        valid = ', '.join(f'{kind}:{each}' for each in chip.slices)
        more = (
            f', and sides that are multiples of 4, such as {kind}:4x4x8, up to {chip.cubes} chips'
        )
        raise BadInput(
            f'--topology is {topology!r}; the slices of {kind} are: {valid}'
            f'{more if chip.cubes else ""}.'
        )
    chips = math.prod(map(int, shape.split('x')))
    bounds = ONE_MACHINE.get(shape, (2, 2, 1))
    return Slice(topology, chip, chips, math.prod(bounds), bounds)


def is_cubes(shape, most):
    """Whether a shape 'axbxc' has multiples of 4 as sides and at most so many chips."""
    if not re.fullmatch(r'\d+x\d+x\d+', shape):
        return False
    sides = [int(side) for side in shape.split('x')]
    return all(side and side % 4 == 0 for side in sides) and math.prod(sides) <= most
