"""Training objectives: a loss names the arrays that it compares, and here they are supplied.

(z1, z2), or two of other names     the two views of an example
(queries, keys, queue)              MoCo: first view, second view by the momentum encoder, queue
(predictions1, ..2, targets1, ..2)  BYOL: predictor, and momentum encoder, of both views
(anchors, bank, index)              one view against a memory bank
(anchors1, .. bank2, index)         two encoders of one view, each against the other's bank
(z)                                 one view
(z, labels)                         both views with a factor of the example
(logits, labels)                    a linear classifier on the features of one view
(images, reconstructions,           one view, and what a decoder makes of a code drawn from its
 mean, log_variance)                features, with the mean and log variance of that code
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

# What is trained beside the encoder and never felt by it; see `online_probe`.
ONLINE_PROBE = 'online_probe'


class Seen(NamedTuple):
    """What a step knows where it asks the loss, for n examples of s sides.

    Attributes:
      examples: the s sides as composed, dicts of arrays [n, ...].
      ids: of the examples [n].
      memory: of the state before the step.
      step: of the run.
      key: for what a memory draws.
      key_beside: for what the modules beside the encoder draw.
      targets: projections by the momentum encoder [n, t, d]; None without one.
      z: projections [n, s, d], those of negatives from elsewhere behind the two views.
      outputs: of the modules beside the encoder, by name.
      images: what the encoder sees [s n, h, w, c], row s i + k of side k of example i.
    """

    examples: Any
    ids: Any
    memory: Any
    step: Any
    key: Any
    key_beside: Any
    targets: Any = None
    z: Any = None
    outputs: Any = None
    images: Any = None


class Objective(NamedTuple):
    """How a step feeds a loss, and what it keeps.

    Attributes:
      arrays: (Seen) -> (arrays, options) of the loss.
      num_sides: how many sides of a pair are made: 1, or 2.
      sides: which of them the encoder sees.
      target_sides: which of them the momentum encoder sees.
      momentum: (step) -> of the momentum encoder; None without one.
      beside: dict of name to `Beside`: what is trained beside the encoder.
      probe: None, or the `OnlineProbe` among those beside.
      init_memory: (key) -> memory before step 0.
      write: (memory, Seen) -> memory after a step.
      refresh: None, or (memory, step, on_first) -> memory, on the host between two steps; the same
        object where nothing is due, or was done. `on_first` is as `hosts.on_first`, by default it.
    """

    arrays: Callable
    num_sides: int = 2
    sides: slice = slice(None)
    target_sides: slice = slice(None)
    momentum: Callable | None = None
    beside: Mapping[str, Any] = {}
    probe: Any = None
    init_memory: Callable = lambda key: {}
    write: Callable = lambda memory, seen: memory
    refresh: Callable | None = None


class Setting(NamedTuple):
    """What an objective is bound to.

    Attributes:
      function: the loss.
      loss: `config.loss` as a dict.
      memory: `config.memory` as a dict.
      target: `config.target` as a dict.
      decoder: `config.decoder` as a dict.
      dataset: the `ProbingDataset` to train on.
      image_shape: (h, w, c) of what the encoder sees.
      shapes: () -> (f, d, whether the model has batch norm) of its h and z.
      num_steps: of the run.
      batch_size: examples in a step.
      seed: of the run.
    """

    function: Callable
    loss: Mapping[str, Any]
    memory: Mapping[str, Any]
    target: Mapping[str, Any]
    decoder: Mapping[str, Any]
    dataset: Any
    image_shape: tuple[int, int, int]
    shapes: Callable
    num_steps: int
    batch_size: int
    seed: int


def two_views(seen):
    """The projections of the two views, and of negatives from elsewhere."""
    if seen.z.shape[1] == 2:
        return (seen.z[:, 0], seen.z[:, 1]), {}
    # Of n pairs of negatives n - 1 count: see `make_train_step`.
    negatives = seen.z[:, 2:].reshape(-1, seen.z.shape[-1])[:-2]
    return (seen.z[:, 0], seen.z[:, 1]), {'negatives': negatives}


PAIRS = Objective(two_views)
