"""What a probing dataset is: a source, its factors, and how an example is composed."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class ProbingDataset:
    """A source together with the factors that its images are known to hold.

    Attributes:
      source: where examples come from.
      factors: name of each factor to its number of values; an evaluation may probe any of them.
      compose: (key, example) -> example, on the device and inside the jitted step, for one example
        (`image` uint8 [h, w, c], `label`, `id`). The result holds `image` float32 [h, w, c] in
        [0, 1], which views augment; `channels` float32 [k], k >= 0 constants that are appended to
        both views as whole channels after augmentation; and an integer for each factor. The key
        is a function of seed, split and id alone, so an example is the same at every visit.
      measure: (keys [n]) -> dict of floats: what the draws of these examples amount to.
    """

    source: Any
    factors: Mapping[str, int]
    compose: Callable
    measure: Callable
