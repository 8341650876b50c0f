"""Views: (key, image) -> image, on the device. What `config.views.name` may say.

Images are float32 [h, w, c] in [0, 1]. The functions take one image; the train step maps them over
a batch. The list holds whole views, each a sequence of operations (`operations.py`):
`with_parameters` gives a view together with the numbers it drew, so that a nuisance can be probed;
`without_draws` is what evaluation embeds.
"""

from contrastive_jax.views.operations import with_parameters as with_parameters
from contrastive_jax.views.operations import without_draws as without_draws
from contrastive_jax.views.sets import (
    centre_crop,
    colour,
    crop_and_flip,
    crop_and_jitter,
    crop_only,
    flip,
    grey,
    instance_discrimination,
    jitter,
    luminance,
    none,
    scramble,
    simclr_cifar,
    simclr_imagenet,
)

__all__ = [
    'centre_crop',
    'colour',
    'crop_and_flip',
    'crop_and_jitter',
    'crop_only',
    'flip',
    'grey',
    'instance_discrimination',
    'jitter',
    'luminance',
    'none',
    'scramble',
    'simclr_cifar',
    'simclr_imagenet',
]
