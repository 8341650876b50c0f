"""What a network holds at any of its layers, in inference mode."""

import jax.numpy as jnp
from flax.traverse_util import flatten_dict

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
