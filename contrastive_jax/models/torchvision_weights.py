"""Weights of residual networks to and from torchvision's and timm's format.

In that format a network is a dict of names ('layer1.0.conv1.weight') to arrays in PyTorch's layout.
The way from a checkpoint file to an encoder, and back:

    network = models.resnet(depth=18, variant='torchvision')
    variables = network.init(key, images, train=False)
    variables = from_torchvision(variables, read_weights('resnet18.safetensors'))
    write_weights('encoder.pth', to_torchvision(variables))
"""

import importlib
from pathlib import Path

import numpy as np
from flax.traverse_util import flatten_dict, unflatten_dict

from contrastive_jax.errors import BadInput

# PyTorch's names of a leaf of 'params' or 'batch_stats'.
LEAF_NAMES = {
    'kernel': 'weight',
    'scale': 'weight',
    'bias': 'bias',
    'mean': 'running_mean',
    'var': 'running_var',
}
COUNTER = 'num_batches_tracked'  # of PyTorch's batch norm; nothing here needs it


def from_torchvision(variables, weights, *, prefix='', with_head=False):
    """Variables of a residual network with weights in torchvision's format.

    Args:
      variables: what `init` of a `resnet` returned; gives the tree, and the head unless with_head.
        With it, the shapes are enough (`jax.eval_shape`).
      weights: dict of names to arrays in PyTorch's layout, any float type.
      prefix: of the names that count, which is taken off: 'backbone.' or 'module.encoder_q.'.
      with_head: whether the head is read too. It must be without batch norm; 'fc' is the only
        layer, or 'fc.0', 'fc.2', ... are several with a ReLU between (MoCo v2).

    Returns:
      `variables` with NumPy float32 arrays in place of its leaves.

    Raises:
      BadInput: a network without such names (selective kernels, a head with batch norm), or
        weights that lack a name, have one too many, or have another shape.
    """
    arrays = {
        name.removeprefix(prefix): array
        for name, array in weights.items()
        if name.startswith(prefix) and not name.endswith(COUNTER)
    }
    leaves = flatten_dict(variables)
    found = dict(leaves)
    names = torch_names(leaves, with_head)
    for path, name in names.items():
        if name not in arrays:
            raise BadInput(f'the weights have no {prefix + name!r}, which {_place(path)} needs.')
        array = _to_flax(np.asarray(arrays.pop(name), np.float32))
        if array.shape != leaves[path].shape:
            raise BadInput(
                f'the weights {prefix + name!r} have the shape {array.shape} in the order of '
                f'{_place(path)}, which has {leaves[path].shape}.'
            )
        found[path] = array
    left = [name for name in arrays if with_head or not name.startswith('fc.')]
    if left:
        raise BadInput(
            f'the weights have {prefix + left[0]!r} and {len(left) - 1} more that the network '
            'lacks: they are of another depth, variant or stem.'
        )
    return unflatten_dict(found)


def to_torchvision(variables, *, with_head=False):
    """Weights in torchvision's format, from the variables of a residual network.

    Args:
      variables: of a `resnet`. torchvision's network gives the same outputs if `variant` is
        'torchvision'; that of 'simclr' differs in the borders of its max-pool.
      with_head: as for `from_torchvision`.

    Returns:
      Dict of names to NumPy float32 arrays in PyTorch's layout. PyTorch's `load_state_dict` takes
      it as it is, with strict=False if the head is not in it.

    Raises:
      BadInput: a network without such names.
    """
    leaves = flatten_dict(variables)
    names = torch_names(leaves, with_head)
    return {name: _to_torch(np.asarray(leaves[path], np.float32)) for path, name in names.items()}


def torch_names(leaves, with_head):
    """{path: name} for the leaves that take part, paths being ('params', 'layer1_0', ...)."""
    heads = sorted({path[2] for path in leaves if path[1] == 'head'})
    names = {}
    for path in leaves:
        _, *modules, leaf = path
        if modules[0] == 'head':
            if not with_head:
                continue
            place = 'fc' if len(heads) == 1 else f'fc.{2 * int(modules[1].split("_")[1])}'
            fits = 'BatchNorm' not in ''.join(heads)
        else:
            place = '.'.join(modules).replace('_', '.')
            # Selective kernels stand inside a block's conv2, and their stem has three convolutions.
            fits = 'conv2.' not in place and place not in ('conv2', 'conv3', 'bn2', 'bn3')
        if not fits:
            raise BadInput(f"{_place(path)} has no counterpart in torchvision's networks.")
        names[path] = f'{place}.{LEAF_NAMES[leaf]}'
    return names


def read_weights(path):
    """The weights in a '.safetensors' file (needs safetensors) or a state dict (needs torch).

    Args:
      path: a file; a state dict may stand under 'state_dict' or 'model' in it.

    Returns:
      Dict of names to NumPy arrays.

    Raises:
      BadInput: no such file, or the package that reads it is not installed.
    """
    path = Path(path)
    if not path.is_file():
        raise BadInput(f'{path} is not a file of weights.')
    if path.suffix == '.safetensors':
        return _package('safetensors.numpy', path).load_file(path)
    torch = _package('torch', path)
    weights = torch.load(path, map_location='cpu', weights_only=True)
    for key in ('state_dict', 'model'):
        weights = weights.get(key, weights)
    return {name: tensor.float().numpy() for name, tensor in weights.items()}


def write_weights(path, weights):
    """Writes weights to a '.safetensors' file, or to a state dict for any other suffix.

    Args:
      path: the file.
      weights: dict of names to NumPy arrays.

    Raises:
      BadInput: the package that writes it is not installed.
    """
    path = Path(path)
    weights = {name: np.ascontiguousarray(array) for name, array in weights.items()}
    if path.suffix == '.safetensors':
        _package('safetensors.numpy', path).save_file(weights, path)
        return
    torch = _package('torch', path)
    torch.save({name: torch.from_numpy(array) for name, array in weights.items()}, path)


def _to_flax(array):
    """A kernel of a convolution or a dense layer from PyTorch's order to Flax's."""
    return array.transpose({4: (2, 3, 1, 0), 2: (1, 0)}.get(array.ndim))


def _to_torch(array):
    return array.transpose({4: (3, 2, 0, 1), 2: (1, 0)}.get(array.ndim))


def _place(path):
    return f'{"/".join(path)} of the network'


def _package(name, path):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition('.')[0]
        raise BadInput(f'{path} needs the package {package}: pip install {package}.') from error
