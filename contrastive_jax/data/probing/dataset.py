"""What a probing dataset is: a source, its factors, and how an example is composed."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax


class Draws(NamedTuple):
    """What the composition of one example may be random in.

    Attributes:
      example: key, a function of seed, split and id: the same at every visit.
      visit: key, anew at every visit of the example; both sides of a positive pair share it.
      side: key, anew at every visit and for each side.
      index: int32 scalar, 0 for the first side of the pair and 1 for the second; -1 outside
        training, where an example is no side of a pair.
    """

    example: Any
    visit: Any
    side: Any
    index: Any


def evaluation_draws(example_key):
    """The draws of an example outside training: one fixed visit, and no side of a pair."""
    visit, side = (jax.random.fold_in(example_key, number) for number in (1, 2))
    return Draws(example_key, visit, side, jax.numpy.int32(-1))


@dataclasses.dataclass(frozen=True)
class ProbingDataset:
    """A source together with the factors that its images are known to hold.

    Attributes:
      source: where examples come from.
      factors: name of each factor to its number of values; an evaluation may probe any of them.
      compose: (draws, example, tables) -> example, on the device and inside the jitted step, for
        one example (`image` uint8 [h, w, c], `label`, `id`) and its `Draws`. The result holds
        `image` float32 [h, w, c] in [0, 1], which views augment; `channels` float32 [k], k >= 0
        constants that are appended to both views as whole channels after augmentation; an
        integer for each factor; and `latents` float32 [d] where real numbers generate the image.
      measure: (keys [n]) -> dict of floats: what the draws of the examples with these keys amount
        to, such as the entropy of a factor in bits.
      tables: arrays that compositions look up, such as the digits of another source. They lie
        whole on every device and are an argument of the compiled step.
      sides_differ: whether `compose` uses `draws.side` or `draws.index`, so that the two sides of
        a pair are composed apart. If not, both views are of one composed image.
      regions: (factors of n composed examples, a dict of arrays [n]) -> int32 [n, h, w]: which
        pixels of their images, before augmentation, belong to what was laid on them, 0 the
        background. None where nothing has a place.
      latent_groups: name of a group to its columns of `latents`, such as content and style.
    """

    source: Any
    factors: Mapping[str, int]
    compose: Callable
    measure: Callable = lambda keys: {}
    tables: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    sides_differ: bool = False
    regions: Callable | None = None
    latent_groups: Mapping[str, Any] = dataclasses.field(default_factory=dict)
