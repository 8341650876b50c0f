"""What the paper claims, each as a statistic of the runs of one config."""

from experiments.chen2021.claims import digit_on_image, losses, multidigits, randbit, saturation

CLAIMS = [
    *losses.CLAIMS,
    *randbit.CLAIMS,
    *multidigits.CLAIMS,
    *digit_on_image.CLAIMS,
    *saturation.CLAIMS,
]
