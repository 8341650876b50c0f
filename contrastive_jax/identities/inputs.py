"""Inputs of a loss, made from the names of its parameters: paired examples, a bank, labels."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from contrastive_jax import names
from contrastive_jax.errors import BadInput

# Options that a loss may require, where the user gives none.
OPTIONS = {
    'temperature': 0.2,
    'num_hard': 3,
    'weight': 1.0,
    'num_dimensions': 5,
    'prior': 'uniform_hypersphere',
    'distribution': 'log_sum_exp',
}

# Arrays without one row for each example.
SHARED = ('bank', 'bank1', 'bank2', 'queue', 'negatives', 'prior_samples', 'projections', 'key')

# Arrays whose rows belong to the rows of the others: moving them on pairs wrongly.
PARTNERS = (
    'z2', 'positives', 'keys', 'index', 'labels', 'class_marks', 'targets1', 'targets2',
    'reconstructions', 'scores',
)  # fmt: skip

# Critics' scores [n, n]: both axes are examples, the diagonal holds the pairs.
SQUARE = ('scores',)

# Parameters that mean something else than their name does elsewhere.
OTHER_MEANINGS = {('multi_label', 'labels'): 'class_marks'}


def _unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def arrays_by_name(rows=8, dimension=16, seed=0, bank_rows=40):
    """Every array that a loss may ask for by name, as float32, int32 or bool NumPy arrays.

    Row i of every array that is not in `SHARED` belongs to example i. The second view is the
    first plus noise; the bank holds the second view in the rows `index`; neighbouring rows of
    `z` share a label.
    """
    random = np.random.default_rng(seed)

    def noise(*shape):
        return random.normal(size=shape)

    first = noise(rows, dimension)
    second = first + 1.5 * noise(rows, dimension)
    index = random.permutation(max(rows, bank_rows))[:rows] % bank_rows
    bank1, bank2 = _unit(noise(bank_rows, dimension)), _unit(noise(bank_rows, dimension))
    bank1[index], bank2[index] = _unit(first + 0.3 * noise(rows, dimension)), _unit(second)
    labels = np.arange(rows) // 2
    classes = np.eye(rows)[labels]
    images = 1 / (1 + np.exp(-4 * first))
    ids = random.integers(-1, bank_rows, (3, rows, 12))
    arrays = {
        'z1': first,
        'z2': second,
        'z': first[labels] + 0.5 * noise(rows, dimension),
        'labels': labels,
        'anchors': _unit(first),
        'positives': _unit(second),
        'anchors1': _unit(first),
        'anchors2': _unit(second),
        'queries': _unit(first),
        'keys': _unit(second),
        'queue': _unit(noise(bank_rows, dimension)),
        'negatives': noise(bank_rows, dimension),
        'bank': bank2,
        'bank1': bank1,
        'bank2': bank2,
        'index': index,
        'background': ids[0],
        'close': np.concatenate([ids[0, :, :5], ids[1, :, :2]], axis=1),
        'noise': ids[2],
        'logits': 3 * classes + noise(rows, rows),
        'class_marks': classes.astype(int),
        'predictions1': first,
        'predictions2': second,
        'targets1': first + 0.3 * noise(rows, dimension),
        'targets2': second + 0.3 * noise(rows, dimension),
        'images': images,
        'reconstructions': 4 * first + noise(rows, dimension),
        'mean': noise(rows, 3),
        'log_variance': noise(rows, 3),
        'scores': _unit(first) @ _unit(second).T,
        'samples': first,
        'prior_samples': _unit(noise(rows, dimension)),
        'projections': np.linalg.qr(noise(dimension, dimension))[0],
    }
    return {
        name: array.astype(np.float32 if array.dtype.kind == 'f' else np.int32)
        for name, array in arrays.items()
    }


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A loss with its options and the arrays it is evaluated on.

    Attributes:
      function: the loss; returns a scalar or (scalar, parts).
      options: its options, as given.
      arrays: dict of parameter name to array.
      roles: dict of parameter name to the name in `arrays_by_name` that it stands for.
    """

    function: Callable
    options: dict[str, Any]
    arrays: dict[str, Any]
    roles: dict[str, str]

    @classmethod
    def of(cls, function, options=None, **sizes):
        """A case with inputs made from the parameter names of `function`.

        Two positional parameters of unknown names are taken for the two views `z1` and `z2`.

        Args:
          function: a loss.
          options: dict of its options. A required one that is missing gets a usual value.
          **sizes: arguments of `arrays_by_name`.

        Raises:
          BadInput: a function without a signature, an option that it does not have, or a required
            parameter of a name from which no input can be made.
        """
        options = dict(options or {})
        title = getattr(function, '__name__', 'the loss')
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError) as error:  # functions written in C
            raise BadInput(f'{title} has no signature that names its arrays: {error}.') from error
        known = arrays_by_name(**sizes)
        open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        for name in options:
            if name not in parameters and not open_ended:
                raise BadInput(
                    f'{name!r} is not an option of {title}, whose parameters are: '
                    f'{", ".join(parameters)}.{names.nearest(name, parameters)}'
                )
        required = [
            p.name
            for p in parameters.values()
            if p.default is p.empty
            and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
            and p.name not in options
        ]
        roles = _roles(title, required, parameters, known)
        arrays = {name: known[role] for name, role in roles.items()}
        for name in required:
            if name not in roles and name != 'key':
                options[name] = OPTIONS[name]
        if 'key' in parameters:
            options.setdefault('key', jax.random.key(0))
        return cls(function, options, arrays, roles)

    def with_options(self, **options):
        """The same case with other options."""
        return Case(self.function, {**self.options, **options}, self.arrays, self.roles)

    @property
    def parameters(self):
        """The function's parameters by name."""
        return inspect.signature(self.function).parameters

    @property
    def temperature(self):
        """The temperature, given or by default; None if the loss has none."""
        parameter = self.parameters.get('temperature')
        return self.options.get('temperature', parameter.default if parameter else None)

    @property
    def rows(self):
        """The number of examples."""
        return next(len(self.arrays[name]) for name in self.row_names)

    @property
    def row_names(self):
        """The arrays with one row for each example."""
        return [name for name, role in self.roles.items() if role not in SHARED]

    @property
    def learned_names(self):
        """The arrays that gradients are taken of: floating rows of examples."""
        return [n for n in self.row_names if np.issubdtype(self.arrays[n].dtype, np.floating)]

    @property
    def partner_names(self):
        """The arrays whose rows are rolled to pair them wrongly; none if nothing is paired."""
        partners = [name for name in self.row_names if self.roles[name] in PARTNERS]
        alone = len(partners) == len(self.row_names) and self.roles[partners[0]] not in SQUARE
        return [] if alone else partners

    def permuted(self, order, arrays=None):
        """The arrays, or those given, with their examples in another order."""
        moved = {}
        for name, array in (self.arrays if arrays is None else arrays).items():
            if name in self.row_names:
                array = np.asarray(array)[order]
                array = array[:, order] if self.roles[name] in SQUARE else array
            moved[name] = array
        return moved

    def mispaired(self):
        """The arrays with every partner moved on by one row."""
        moved = dict(self.arrays)
        for name in self.partner_names:
            moved[name] = np.roll(moved[name], 1, axis=0)
        return moved

    def value_and_parts(self, arrays):
        """The loss of a dict of arrays, and whatever it returns beside it."""
        parameters = self.parameters
        positional = [
            n for n in self.roles if parameters[n].kind is not inspect.Parameter.KEYWORD_ONLY
        ]
        keywords = {n: arrays[n] for n in self.roles if n not in positional}
        result = self.function(*(arrays[n] for n in positional), **keywords, **self.options)
        value, *parts = result if isinstance(result, tuple) else (result,)
        shape = getattr(value, 'shape', () if isinstance(value, float | int) else None)
        if shape != ():
            kind = type(value).__name__ if shape is None else f'shape {shape}'
            raise ValueError(f'a loss returns a scalar or (scalar, dict), got {kind}.')
        return value, parts

    def results_eagerly(self, arrays):
        """((loss, parts), gradients of the rows as a dict), operation by operation."""
        learned = {name: arrays[name] for name in self.learned_names}
        whole = jax.value_and_grad(lambda r: self.value_and_parts({**arrays, **r}), has_aux=True)
        return whole(learned)

    @functools.cached_property
    def results(self):
        """As `results_eagerly`, compiled."""
        return jax.jit(self.results_eagerly)

    def value_and_gradient(self, arrays):
        """The loss and a dict of gradients of the rows, compiled."""
        (value, _), gradient = self.results(arrays)
        return value, gradient

    def value_and_gradient_eagerly(self, arrays):
        """As `value_and_gradient`, operation by operation."""
        (value, _), gradient = self.results_eagerly(arrays)
        return value, gradient


def _roles(title, required, parameters, known):
    """Which array every required parameter stands for; what is not an array is an option."""
    roles = {n: OTHER_MEANINGS.get((title, n), n) for n in required if n in known}
    unknown = [n for n in required if n not in known and n not in OPTIONS and n != 'key']
    positional = [n for n in unknown if parameters[n].kind is not inspect.Parameter.KEYWORD_ONLY]
    if unknown and unknown == positional and len(unknown) == 2 and not roles:
        return dict(zip(unknown, ('z1', 'z2'), strict=True))
    if unknown:
        raise BadInput(
            f'no input is known for the parameter {unknown[0]!r} of {title}; known are: '
            f'{", ".join(known)}; any other must be given as an option.'
        )
    if not roles:
        raise BadInput(f'{title} takes no array; known are: {", ".join(known)}.')
    return roles
