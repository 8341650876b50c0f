"""Whether a config computes the same on any number of devices, with other rows on each."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from contrastive_jax import sharding
from contrastive_jax.data import batches
from contrastive_jax.errors import BadInput
from contrastive_jax.training.build import build
from contrastive_jax.training.evaluate import Evaluator
from contrastive_jax.training.step import jit_train_step

COUNTS = (1, 2, 4, 8)

# A wrong collective shows in the first step, or in the second one's batch statistics.
STEPS = 3

# Of values relative to max(1, |value|), of arrays to their largest entry. Logits are divided by the
# temperature, and so is their rounding.
TOLERANCE, TOLERANCE_BELOW, SMALL_TEMPERATURE = 1e-6, 1e-4, 0.05

# A network multiplies rounding. How much is measured: by so many times what one unit in the last
# place of each parameter changes on one device, several devices may differ too, up to a limit that
# a missing collective is far beyond.
TIMES_ROUNDING, LIMIT = 4, 1e-3

QUANTITIES = ('loss', 'gradient', 'batch statistics', 'metrics', 'embeddings', 'examples')


class Difference(NamedTuple):
    """How far a quantity on some devices is from that on the first number of devices.

    Attributes:
      devices: their number.
      quantity: one of QUANTITIES.
      value: the largest difference of all steps, relative as at TOLERANCE.
      rounding: the same for one unit in the last place of each parameter, on one device.
      tolerance: the largest that rounding explains.
      where: the step and the name of the value or array that differs most.
    """

    devices: int
    quantity: str
    value: float
    rounding: float
    tolerance: float
    where: str

    @property
    def agrees(self):
        """Whether rounding explains it; nothing explains what is not finite."""
        return self.value <= self.tolerance


class Remembered(NamedTuple):
    """The state of an optimizer and the gradient that it was given last."""

    gradient: Any
    inner: Any


def remembering(optimizer):
    """An optimizer that keeps the gradient of the last step in its state."""

    def init(params):
        return Remembered(jax.tree.map(jnp.zeros_like, params), optimizer.init(params))

    def update(gradient, state, params=None, **values):
        updates, inner = optimizer.update(gradient, state.inner, params, **values)
        return updates, Remembered(gradient, inner)

    return optax.GradientTransformationExtraArgs(init, update)


def certify(config, counts=COUNTS):
    """Steps and embeddings of a config on several numbers of devices, compared.

    All start each step from the same state, that of the first number: an optimizer such as Adam
    would make much of a rounding in a small gradient.

    Args:
      config: a ConfigDict; at most its first STEPS steps are made. A model that computes in
        bfloat16 does so in float32 here, where a wrong collective stands out from rounding.
      counts: numbers of devices of this process, each of which divides the batch.

    Returns:
      A list of `Difference`, one for each quantity and each number but the first.

    Raises:
      BadInput: a config that cannot be, or too few devices.
    """
    if len(jax.devices()) < max(counts):
        raise BadInput(
            f'{max(counts)} devices are needed, {len(jax.devices())} are there: leave XLA_FLAGS '
            'and JAX_NUM_CPU_DEVICES unset.'
        )
    for count in counts:
        sharding.check_batch(config.batch_size, sharding.data_mesh(count))
    config = config.copy_and_resolve_references()
    if 'dtype' in config.model:
        config.model.dtype = 'float32'
    states = []
    expected = measure(config, counts[0], states)
    moved = measure(config, counts[0], [one_unit_away(state) for state in states])
    differences = []
    for count in counts[1:]:
        found = measure(config, count, states)
        for quantity in QUANTITIES:
            value, where = largest_difference(found[quantity], expected[quantity])
            rounding, _ = largest_difference(moved[quantity], expected[quantity])
            allowed = tolerance(config, quantity, rounding)
            differences.append(Difference(count, quantity, value, rounding, allowed, where))
    return differences


def one_unit_away(state):
    """A state whose parameters are each the next float above or below."""
    generator = np.random.default_rng(0)

    def neighbour(leaf):
        up = generator.random(leaf.shape) < 0.5
        return np.nextafter(leaf, np.where(up, np.inf, -np.inf).astype(leaf.dtype))

    return state._replace(params=jax.tree.map(neighbour, state.params))


def measure(config, count, states):
    """The quantities of a config on `count` devices: {quantity: {name: array}}.

    Args:
      config: a ConfigDict.
      count: of devices.
      states: the state before each step and after the last, which are appended if it is empty.
    """
    mesh = sharding.data_mesh(count)
    whole = sharding.replicated(mesh)
    found = {quantity: {} for quantity in QUANTITIES}
    experiment = build(config, mesh, around=remembering)
    with jax.set_mesh(mesh):
        evaluator = Evaluator(experiment)
        step_of = jit_train_step(experiment, donate=False)  # `states` are used again
        leads = not states
        if leads:
            states.append(jax.device_get(jax.jit(experiment.init_state)(experiment.seed_key)))
        orders = experiment.train_orders(evaluator.classes() if experiment.pairing else None)
        feed = batches.iterate(orders, 0)
        for k in range(min(config.num_steps, STEPS)):
            batch = sharding.to_devices(next(feed), mesh)
            state, metrics = jax.device_get(
                step_of(
                    jax.device_put(states[k], whole),
                    batch,
                    evaluator.tables['train'],
                    experiment.seed_key,
                )
            )
            if leads:
                states.append(state)
            at_step = f'step {k + 1}'
            found['loss'][at_step] = metrics.pop('loss')
            found['gradient'][at_step] = state.opt_state.gradient
            found['batch statistics'][at_step] = state.batch_stats
            found['metrics'][at_step] = metrics
        embedded = evaluator.embed(jax.device_put(states[-1], whole).variables, 'test')
    for name, array in embedded.items():
        quantity = 'embeddings' if array.dtype.kind == 'f' else 'examples'
        found[quantity][name] = array
    return found


def tolerance(config, quantity, rounding):
    """The largest difference that is rounding; see TOLERANCE and TIMES_ROUNDING."""
    if quantity == 'examples':
        return 0.0
    temperature = config.loss.get('temperature', 1.0)
    small = temperature is not None and np.min(temperature) < SMALL_TEMPERATURE
    return max(TOLERANCE_BELOW if small else TOLERANCE, min(TIMES_ROUNDING * rounding, LIMIT))


def largest_difference(found, expected):
    """The largest difference of two like trees, relative as at TOLERANCE, and where it is.

    The arrays of one step's gradient are relative to the largest entry of all of them.
    """
    largest, where = 0.0, ''
    for name, tree in expected.items():
        pairs = jax.tree.leaves_with_path(jax.tree.map(lambda *pair: pair, found[name], tree),
                                          is_leaf=lambda leaf: isinstance(leaf, tuple))  # fmt: skip
        scale = max([1e-30, *(float(np.max(np.abs(there), initial=0)) for _, (_, there) in pairs)])
        for path, (here, there) in pairs:
            by = max(1.0, abs(float(there))) if np.ndim(there) == 0 else scale
            apart = np.abs(np.asarray(here, np.float64) - np.asarray(there, np.float64))
            value = float(np.max(apart, initial=0)) / by
            if not (value <= largest or np.isnan(largest)):
                largest = value
                where = f'{name} {jax.tree_util.keystr(path, simple=True, separator="/")}'.strip()
    return largest, where


def table(differences):
    """The differences in lines, one a quantity, and a last line with the largest."""
    counts = sorted({difference.devices for difference in differences})
    head = ''.join(f'{f"{count} devices":>12}' for count in counts)
    lines = [f'{"largest difference on":24}{head}{"rounding":>12}{"tolerance":>12}']
    for quantity in QUANTITIES:
        of = [difference for difference in differences if difference.quantity == quantity]
        values = ''.join(f'{difference.value:12.1e}' for difference in of)
        lines.append(f'{quantity:24}{values}{of[0].rounding:12.1e}{of[0].tolerance:12.1e}')
    for difference in differences:
        if not difference.agrees:
            lines.append(
                f'{difference.quantity} differs on {difference.devices} devices by '
                f'{difference.value:.1e} ({difference.where})'
            )
    verdict = 'all agree' if all(of.agrees for of in differences) else 'they do NOT agree'
    worst = max(differences, key=lambda of: np.nan_to_num(of.value, nan=np.inf))
    return '\n'.join([
        *lines,
        f'{verdict}; the largest difference is {worst.value:.1e}: {worst.quantity}, '
        f'{worst.devices} devices, {worst.where or "everywhere"}',
    ])  # fmt: skip
