"""The named views, each the list of its operations. Options beyond these: see the operations."""

from contrastive_jax.views.blur import random_blur
from contrastive_jax.views.crops import central_crop, random_resized_crop
from contrastive_jax.views.flips import random_flip
from contrastive_jax.views.jittering import random_grey, random_jitter
from contrastive_jax.views.lab import split_lab
from contrastive_jax.views.operations import CLIP, deterministic, view
from contrastive_jax.views.scrambling import random_scramble

# The strengths of SimCLR's jitter at s = 1.
SIMCLR_JITTER = dict(brightness=0.8, contrast=0.8, saturation=0.8, hue=0.2)


def blur(probability):
    """Blur as a list: empty at probability 0, so that no kernel is computed in vain."""
    return [random_blur(probability=probability)] if probability else []


@view
def none():
    """The image itself, unchanged: the view for evaluation and for loss-only studies."""
    return []


@view
def crop_only(
    *,
    area_range=(0.08, 1.0),
    aspect_range=(3 / 4, 4 / 3),
    method='cubic',
    law='tensorflow',
    size=None,
):
    """A random crop, resized to the image's shape or to `size`, clipped to [0, 1].

    The options are those of `crops.random_resized_crop`; the defaults are SimCLR's.
    """
    crop = dict(area_range=area_range, aspect_range=aspect_range, method=method, law=law, size=size)
    return [random_resized_crop(**crop), CLIP]


@view
def crop_and_flip(
    *,
    area_range=(0.08, 1.0),
    aspect_range=(3 / 4, 4 / 3),
    method='cubic',
    law='tensorflow',
    size=None,
    flip_probability=0.5,
):
    """`crop_only`, then mirrored with probability 1/2: SimCLR's view for training a probe."""
    crop = dict(area_range=area_range, aspect_range=aspect_range, method=method, law=law, size=size)
    return [random_resized_crop(**crop), CLIP, random_flip(probability=flip_probability)]


@view
def flip(*, flip_probability=0.5):
    """Mirrored with probability 1/2, nothing else."""
    return [random_flip(probability=flip_probability)]


@view
def grey(*, grey_probability=0.2):
    """Grey with probability 0.2, nothing else."""
    return [random_grey(probability=grey_probability)]


@view
def jitter(
    *,
    brightness=0.4,
    contrast=0.4,
    saturation=0.4,
    hue=0.4,
    additive_brightness=False,
    jitter_probability=1.0,
):
    """Colour jitter alone, with the strengths of instance discrimination.

    The options are those of `jittering.random_jitter`.
    """
    strengths = dict(brightness=brightness, contrast=contrast, saturation=saturation, hue=hue)
    return [
        random_jitter(
            **strengths, additive_brightness=additive_brightness, probability=jitter_probability
        )
    ]


@view
def crop_and_jitter(
    *,
    area_range=(0.2, 1.0),
    aspect_range=(3 / 4, 4 / 3),
    method='linear',
    law='torchvision',
    size=None,
    brightness=0.4,
    contrast=0.4,
    saturation=0.4,
    hue=0.4,
    jitter_probability=1.0,
):
    """A random crop and colour jitter, with the defaults of `instance_discrimination`."""
    crop = dict(area_range=area_range, aspect_range=aspect_range, method=method, law=law, size=size)
    strengths = dict(brightness=brightness, contrast=contrast, saturation=saturation, hue=hue)
    return [
        random_resized_crop(**crop),
        random_jitter(**strengths, probability=jitter_probability),
        CLIP,
    ]


@view
def instance_discrimination(
    *,
    area_range=(0.2, 1.0),
    aspect_range=(3 / 4, 4 / 3),
    method='linear',
    law='torchvision',
    size=None,
    brightness=0.4,
    contrast=0.4,
    saturation=0.4,
    hue=0.4,
    jitter_probability=1.0,
    grey_probability=0.2,
    flip_probability=0.5,
    blur_probability=0.0,
):
    """Crop, flip, jitter, grey, and blur by option: the view of memory-bank methods.

    The jitter is that of `jittering.random_jitter`: its contrast and saturation are TensorFlow's.

    Source: Wu et al. 2018 (instance discrimination), as Wang and Liu 2021 and Wu et al. 2020 use
    it. The code of the former leaves the flip out: `flip_probability=0`.
    """
    crop = dict(area_range=area_range, aspect_range=aspect_range, method=method, law=law, size=size)
    strengths = dict(brightness=brightness, contrast=contrast, saturation=saturation, hue=hue)
    operations = [
        random_resized_crop(**crop),
        # The flip commutes with colour; last, it would make the compiler do the colours twice.
        random_flip(probability=flip_probability),
        random_jitter(**strengths, probability=jitter_probability),
        random_grey(probability=grey_probability),
        CLIP,
    ]
    return [*operations, *blur(blur_probability)]


@view
def simclr_imagenet(
    *,
    strength=1.0,
    area_range=(0.08, 1.0),
    aspect_range=(3 / 4, 4 / 3),
    method='cubic',
    law='tensorflow',
    size=None,
    flip_probability=0.5,
    jitter_probability=0.8,
    grey_probability=0.2,
    blur_probability=0.5,
    additive_brightness=False,
):
    """SimCLR's view for ImageNet: crop, flip, jitter, grey, blur.

    Options:
      strength: s, in [0, 1.25]: jitter of strengths 0.8 s, 0.8 s, 0.8 s and 0.2 s.
      flip_probability, jitter_probability, grey_probability, blur_probability: of each operation.
      additive_brightness: of the jitter.
      The others are those of `crops.random_resized_crop`.

    Source: Chen et al. 2020 (SimCLR), appendix A, and its code: the jitter sees the crop before
    clipping.
    """
    if not 0 <= strength <= 1.25:
        raise ValueError(f'strength is {strength}, not in [0, 1.25].')
    crop = dict(area_range=area_range, aspect_range=aspect_range, method=method, law=law, size=size)
    strengths = {name: strength * most for name, most in SIMCLR_JITTER.items()}
    operations = [
        random_resized_crop(**crop),
        random_flip(probability=flip_probability),
        random_jitter(
            **strengths, additive_brightness=additive_brightness, probability=jitter_probability
        ),
        random_grey(probability=grey_probability),
        CLIP,
    ]
    return [*operations, *blur(blur_probability)]


@view
def simclr_cifar(
    *,
    strength=0.5,
    area_range=(0.08, 1.0),
    aspect_range=(3 / 4, 4 / 3),
    method='cubic',
    law='tensorflow',
    size=None,
    flip_probability=0.5,
    jitter_probability=0.8,
    grey_probability=0.2,
    additive_brightness=False,
):
    """SimCLR's view for CIFAR-10: `simclr_imagenet` at s = 0.5 without blur."""
    return simclr_imagenet.operations_of(**locals(), blur_probability=0.0)


@view
def centre_crop(*, share=0.875, size=None):
    """The central crop that SimCLR evaluates on; the options are those of `crops.central_crop`."""
    return [central_crop(share=share, size=size), CLIP]


@view
def scramble(*, patch=1):
    """Pixels, or square patches of side `patch`, in random order: nothing is where it was.

    A control that destroys the structure of an image and keeps its histogram.
    """
    return [random_scramble(patch=patch)]


@view
def luminance(
    *,
    area_range=(0.2, 1.0),
    aspect_range=(3 / 4, 4 / 3),
    method='linear',
    law='torchvision',
    size=None,
    flip_probability=0.5,
):
    """The lightness L [h, w, 1] of a random crop, normalised to [-1, 1]; takes 3 channels.

    With one key, `luminance` and `colour` show the same crop: the two views of Contrastive
    Multiview Coding (Tian et al. 2020). See `lab.split_lab`.
    """
    operations = crop_and_flip.operations_of(**locals())
    return [*operations, deterministic(lambda image: split_lab(image)[0])]


@view
def colour(
    *,
    area_range=(0.2, 1.0),
    aspect_range=(3 / 4, 4 / 3),
    method='linear',
    law='torchvision',
    size=None,
    flip_probability=0.5,
):
    """The colour a, b [h, w, 2] of a random crop, normalised; the counterpart of `luminance`."""
    operations = crop_and_flip.operations_of(**locals())
    return [*operations, deterministic(lambda image: split_lab(image)[1])]
