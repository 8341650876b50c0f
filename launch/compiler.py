"""The TPU compiler on a machine without a TPU: libtpu describes a slice and compiles for it."""

import contextlib
import importlib.util
import os

import jax
import numpy as np
from jax.experimental import topologies
from jax.sharding import AxisType, Mesh

from contrastive_jax.errors import BadInput
from contrastive_jax.sharding import AXIS


def require():
    """Makes this process use the compiler and look for no TPU.

    Raises:
      BadInput: it is not installed.
    """
    if importlib.util.find_spec('libtpu') is None:
        raise BadInput(
            'The TPU compiler is not installed; it comes with: pip install -e ".[tpu]" '
            '(no TPU is needed).'
        )
    os.environ['TPU_SKIP_MDS_QUERY'] = '1'  # nobody is there to say which TPU this is
    os.environ['ALLOW_MULTIPLE_LIBTPU_LOAD'] = '1'  # no TPU is held, so nobody has to wait
    jax.config.update('jax_platforms', 'cpu')
    # JAX would write such programs to disk and could not read them again without a TPU.
    jax.config.update('jax_enable_compilation_cache', False)


def mesh_of(place):
    """A mesh of the devices of a `chips.Slice`, as `sharding.data_mesh` has them.

    Raises:
      BadInput: a slice that the compiler refuses.
    """
    options = {'chips_per_host_bounds': list(place.bounds)}
    if place.name.startswith('v4:'):
        # As the TPU runtime has it: the two cores of a v4 chip are one device.
        options['chip_config_name'] = 'megacore'
    try:
        with quiet():
            described = topologies.get_topology_desc(place.name, platform='tpu', **options)
    except jax.errors.JaxRuntimeError as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f'--topology is {place.name!r}; libtpu refuses it: {reason}') from error
    devices = np.asarray(described.devices)
    if devices.size != place.devices:
        raise RuntimeError(f'{place.name} has {devices.size} devices, not {place.devices}.')
    return Mesh(devices, (AXIS,), axis_types=(AxisType.Auto,))


@contextlib.contextmanager
def quiet():
    """Keeps libtpu's complaints from the user: without a TPU it finds no names of workers."""
    kept = os.dup(2)
    with open(os.devnull, 'w') as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
