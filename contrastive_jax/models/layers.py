"""What a network holds at any of its layers, in inference mode."""

import jax
import jax.numpy as jnp
from flax.traverse_util import flatten_dict, unflatten_dict

from contrastive_jax.errors import BadInput


def layer_outputs(network, variables, images, layers=None, *, pooled=True):
    """The outputs of layers by name.

    Args:
      network: a Linen module, (images, train) -> (h, z).
      variables: its parameters and batch statistics, or their shapes.
      images: [n, ...].
      layers: names: paths of modules such as 'layer3_1' or 'head/Dense_0', and what a network
        exposes itself such as a ResNet's 'block_group_3'; None for all that there are.
      pooled: the mean over places in place of a feature map.

    Returns:
      dict of name to array [n, d], or [n, h, w, d] where not pooled; in the network's dtype, means
      in float32.

    Raises:
      BadInput: a layer that the network does not have.
    """
    _, kept = network.apply(
        variables, images, train=False, capture_intermediates=True, mutable=['intermediates']
    )
    found = {}
    for path, outputs in flatten_dict(kept['intermediates']).items():
        name = '/'.join(path).removesuffix('/__call__')
        output = outputs[0] if isinstance(outputs, tuple) else outputs
        if name != '__call__' and getattr(output, 'ndim', 0) >= 2:
            found[name] = output
    for name in layers or ():
        if name not in found:
            raise BadInput(f'The network has no layer {name!r}, but: {", ".join(sorted(found))}.')
    chosen = {name: found[name] for name in layers or found}
    if not pooled:
        return chosen
    return {
        name: output if output.ndim == 2
        else jnp.mean(output.astype(jnp.float32), range(1, output.ndim - 1))
        for name, output in chosen.items()
    }  # fmt: skip


def main_layers(names):
    """The layers that follow one another in a network: what each of its parts hands to the next.

    Args:
      names: of all layers, such as those of `layer_outputs`.

    Returns:
      A list, first to last: the block groups that a network exposes, or else its dense layers; none
      of another network.
    """
    for kind in ('block_group', 'Dense'):
        found = {}
        for name in names:
            *inside, last = name.split('/')
            start, _, number = last.rpartition('_')
            if start == kind and number.isdecimal():
                found[name] = (inside, int(number))
        if found:
            return sorted(found, key=found.get)
    return []


def layers_before_features(network, variables, images, layers):
    """Those of some layers that the features h are made of; the others belong to the head.

    A layer whose parameters are NaN makes h NaN if and only if h is made of it.

    Args:
      network: a Linen module, (images, train) -> (h, z).
      variables: its parameters and batch statistics.
      images: [n, ...], one is enough.
      layers: names as in `layer_outputs`. One without parameters under its name, such as a block
        group, is taken to stand before h.

    Returns:
      A list of names in the order given.
    """
    flat = flatten_dict(variables, sep='/')
    features = jax.jit(lambda variables: network.apply(variables, images, train=False)[0])

    def before(name):
        inside = [path for path in flat if path.startswith(f'params/{name}/')]
        spoilt = {path: jnp.full_like(flat[path], jnp.nan) for path in inside}
        spoilt = unflatten_dict(flat | spoilt, sep='/')
        return not inside or bool(jnp.isnan(features(spoilt)).any())

    return [name for name in layers if before(name)]
