"""What the paper claims, each as a statistic of the runs of a laptop's config or a full one."""

from experiments.chen2021.claims import (
    colour,
    digit_on_image,
    local_features,
    losses,
    multidigits,
    randbit,
    saturation,
)

CLAIMS = [
    *losses.CLAIMS,
    *randbit.CLAIMS,
    *multidigits.CLAIMS,
    *digit_on_image.CLAIMS,
    *saturation.CLAIMS,
    *local_features.CLAIMS,
    *colour.CLAIMS,
]
