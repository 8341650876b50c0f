"""Every test runs on 4 simulated CPU devices, under strict promotion, before JAX starts."""

import os
import signal
from pathlib import Path

os.environ['JAX_PLATFORMS'] = os.environ.get('JAX_PLATFORMS') or 'cpu'
os.environ['XLA_FLAGS'] = (
    os.environ.get('XLA_FLAGS', '') + ' --xla_force_host_platform_device_count=4'
)

# Programs are shared by the workers of a run, by the processes that tests start, and by later runs.
os.environ.setdefault(
    'JAX_COMPILATION_CACHE_DIR', str(Path(__file__).parent.parent / '.pytest_cache' / 'programs')
)

# A script's background job ignores SIGINT, and so would the processes that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

import jax  # noqa: E402
import pytest  # noqa: E402

jax.config.update('jax_numpy_dtype_promotion', 'strict')
jax.config.update('jax_numpy_rank_promotion', 'raise')


@pytest.fixture(scope='module', autouse=True)
def compiled_programs_end_with_their_module():
    """Without this, a worker holds 4 GiB of programs at the end."""
    yield
    jax.clear_caches()


@pytest.fixture
def key():
    """A fixed key, for tests that draw."""
    return jax.random.key(0)
