"""The named views, each the list of its operations. Options beyond these: see the operations."""

from contrastive_jax.views.blur import random_blur
from contrastive_jax.views.crops import central_crop, random_resized_crop
from contrastive_jax.views.flips import random_flip
from contrastive_jax.views.jittering import random_grey, random_jitter
from contrastive_jax.views.lab import split_lab
from contrastive_jax.views.operations import CLIP, check_number, deterministic, view
from contrastive_jax.views.scrambling import random_scramble

# The strengths of SimCLR's jitter at s = 1.
SIMCLR_JITTER = dict(brightness=0.8, contrast=0.8, saturation=0.8, hue=0.2)


def crop_of(options):
    """The random crop of a view's options."""
    names = ('area_range', 'aspect_range', 'method', 'law', 'size')
    own = {name: options[name] for name in names}
    return random_resized_crop(**own, probability=options['crop_probability'])


def jitter_of(options):
    """The colour jitter of a view's options."""
    names = ('brightness', 'contrast', 'saturation', 'hue')
    own = {name: options[name] for name in names}
    additive = options.get('additive_brightness', False)
    return random_jitter(
        **own, additive_brightness=additive, probability=options['jitter_probability']
    )


def blur_of(options):
    """The blur as a list: empty at probability 0, so that no kernel is computed in vain."""
    probability = options['blur_probability']
    own = {'sigma_range': options['sigma_range'], 'probability': probability}
    return [random_blur(**own)] if probability != 0 else []


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
    crop_probability=1.0,
):
    """A random crop, resized to the image's shape or to `size`, clipped to [0, 1].

    The options are those of `crops.random_resized_crop`; the defaults are SimCLR's.
    """
    return [crop_of(locals()), CLIP]


@view
def crop_and_flip(
    *,
    area_range=(0.08, 1.0),
    aspect_range=(3 / 4, 4 / 3),
    method='cubic',
    law='tensorflow',
    size=None,
    crop_probability=1.0,
    flip_probability=0.5,
):
    """`crop_only`, then mirrored with probability 1/2: SimCLR's view for training a probe."""
    return [crop_of(locals()), CLIP, random_flip(probability=flip_probability)]


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
    return [jitter_of(locals())]


@view
def crop_and_jitter(
    *,
    area_range=(0.2, 1.0),
    aspect_range=(3 / 4, 4 / 3),
    method='linear',
    law='torchvision',
    size=None,
    crop_probability=1.0,
    brightness=0.4,
    contrast=0.4,
    saturation=0.4,
    hue=0.4,
    jitter_probability=1.0,
):
    """A random crop and colour jitter, with the defaults of `instance_discrimination`."""
    return [crop_of(locals()), jitter_of(locals()), CLIP]


@view
def instance_discrimination(
    *,
    area_range=(0.2, 1.0),
    aspect_range=(3 / 4, 4 / 3),
    method='linear',
    law='torchvision',
    size=None,
    crop_probability=1.0,
    brightness=0.4,
    contrast=0.4,
    saturation=0.4,
    hue=0.4,
    jitter_probability=1.0,
    grey_probability=0.2,
    grey_first=False,
    flip_probability=0.5,
    blur_probability=0.0,
    sigma_range=(0.1, 2.0),
):
    """Crop, flip, jitter, grey, and blur by option: the view of memory-bank methods.

    The jitter is that of `jittering.random_jitter`: its contrast and saturation are TensorFlow's.
    The images are not normalised by the mean and deviation of a data set, as those papers do.

    Source: Wang and Liu 2021, whose code leaves the flip out (`flip_probability=0`); Wu et al.
    2020 with `grey_first=True`, whose grey comes before the jitter.
    """
    if not isinstance(grey_first, bool):
        raise ValueError(f'grey_first is {grey_first!r}, not True or False.')
    colours = [jitter_of(locals()), random_grey(probability=grey_probability)]
    return [
        crop_of(locals()),
        # The flip commutes with colour; last, it would make the compiler do the colours twice.
        random_flip(probability=flip_probability),
        *(reversed(colours) if grey_first else colours),
        CLIP,
        *blur_of(locals()),
    ]


@view
def simclr_imagenet(
    *,
    strength=1.0,
    area_range=(0.08, 1.0),
    aspect_range=(3 / 4, 4 / 3),
    method='cubic',
    law='tensorflow',
    size=None,
    crop_probability=1.0,
    flip_probability=0.5,
    jitter_probability=0.8,
    grey_probability=0.2,
    blur_probability=0.5,
    sigma_range=(0.1, 2.0),
    additive_brightness=False,
):
    """SimCLR's view for ImageNet: crop, flip, jitter, grey, blur.

    Options:
      strength: s, in [0, 1.25]: jitter of strengths 0.8 s, 0.8 s, 0.8 s and 0.2 s; at 0 there is
        neither jitter nor grey.
      flip_probability, jitter_probability, grey_probability, blur_probability: of each operation.
      additive_brightness: of the jitter.
      sigma_range: of the blur.
      The others are those of `crops.random_resized_crop`.

    Source: Chen et al. 2020 (SimCLR), appendix A, and its code: the jitter sees the crop before
    clipping.
    """
    check_number('strength', strength, 0, 1.25)
    strengths = {name: strength * most for name, most in SIMCLR_JITTER.items()}
    colours = [jitter_of(locals() | strengths), random_grey(probability=grey_probability)]
    return [
        crop_of(locals()),
        random_flip(probability=flip_probability),
        *(colours if strength else []),
        CLIP,
        *blur_of(locals()),
    ]


@view
def simclr_cifar(
    *,
    strength=0.5,
    area_range=(0.08, 1.0),
    aspect_range=(3 / 4, 4 / 3),
    method='cubic',
    law='tensorflow',
    size=None,
    crop_probability=1.0,
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
    crop_probability=1.0,
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
    crop_probability=1.0,
    flip_probability=0.5,
):
    """The colour a, b [h, w, 2] of a random crop, normalised; the counterpart of `luminance`."""
    operations = crop_and_flip.operations_of(**locals())
    return [*operations, deterministic(lambda image: split_lab(image)[1])]
