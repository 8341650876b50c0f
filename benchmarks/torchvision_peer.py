"""The views of `benchmarks.data` by torchvision, one image after another in two processes.

RandBit's channels are appended behind the views, and MultiDigits' canvas is filled by NumPy before
them, as one writes these data sets with torchvision. Composed views end as float tensors.
"""

import multiprocessing

import numpy as np

WORKERS = 2


def transform(name, size, form):
    """The counterpart of our view, on tensors or, with form 'pil', on PIL images."""
    from torchvision.transforms import InterpolationMode, v2

    least, interpolation = {
        'crop': (0.5, InterpolationMode.BILINEAR),
        'simclr_crop': (0.08, InterpolationMode.BICUBIC),
        'simclr_colour': (0.08, InterpolationMode.BICUBIC),
    }[name]
    crop = v2.RandomResizedCrop(
        size, scale=(least, 1.0), interpolation=interpolation, antialias=form == 'pil'
    )
    if name != 'simclr_colour':
        return crop
    jitter = v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8)
    return v2.Compose([crop, v2.RandomHorizontalFlip(), jitter, v2.RandomGrayscale(p=0.2)])


def opened(pixels, form):
    """An image uint8 [h, w, c] in the form that the transforms take."""
    import torch
    from PIL import Image

    if form == 'pil':
        return Image.fromarray(pixels.squeeze())
    return torch.from_numpy(pixels).permute(2, 0, 1).float() / 255


def as_tensor(view):
    """A view as a float tensor [c, h, w] in [0, 1]."""
    import torch
    from torchvision.transforms.v2 import functional

    return view if isinstance(view, torch.Tensor) else functional.pil_to_tensor(view).float() / 255


def pair_with_bits(image, view, form, bits):
    """Two views of an image, with the same random bits as constant channels behind both."""
    import torch

    code = (torch.randint(2**bits, ()) >> torch.arange(bits)) & 1
    channels = code.float()[:, None, None].expand(-1, *image.shape[:2])
    start = opened(image, form)
    return [torch.cat([as_tensor(view(start)), channels]) for _ in range(2)]


def pair_of_canvases(images, view, form, random, digits, canvas):
    """Two views of a canvas with the first of some images and others drawn from all of them."""
    size = images.shape[1]
    pixels = np.zeros((canvas, canvas, images.shape[3]), np.uint8)
    chosen = [0, *random.integers(0, len(images), digits - 1)]
    for number, (top, left) in zip(
        chosen, random.integers(0, canvas - size + 1, (digits, 2)), strict=True
    ):
        window = pixels[top : top + size, left : left + size]
        np.maximum(window, images[number], out=window)
    start = opened(pixels, form)
    return [as_tensor(view(start)) for _ in range(2)]


def make_views(job):
    """Makes the views of one worker; nothing but their number is sent back."""
    import torch

    name, composition, options, shape, size, form, count = job
    torch.set_num_threads(1)
    view = transform(name, size, form)
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (256, *shape), np.uint8)
    if composition == 'plain':
        image = opened(images[0], form)
        return sum(view(image) is not None for _ in range(count))
    if composition == 'randbit':
        pairs = (pair_with_bits(images[i % 256], view, form, **options) for i in range(count // 2))
    else:
        pairs = (pair_of_canvases(images, view, form, random, **options) for _ in range(count // 2))
    return sum(len(pair) for pair in pairs)


def maker(pool, name, composition, options, shape, size, form, count):
    """A function that makes `count` views, half of them in each worker of a pool.

    Args:
      pool: what `start_workers` gives.
      name: of the view, see `transform`.
      composition: 'plain' for views of one image that is open already, 'randbit' or 'multidigits'.
      options: dict of those of the composition: `bits`, or `digits` and `canvas`.
      shape: (height, width, channels) of the source's images.
      size: side of a view.
      form: 'tensor' or 'pil'.
      count: of views; an even number for each worker.
    """
    jobs = [(name, composition, options, shape, size, form, count // WORKERS)] * WORKERS
    return lambda: pool.map(make_views, jobs, chunksize=1)


def start_workers():
    """Two processes, which start anew: JAX must not be forked."""
    return multiprocessing.get_context('spawn').Pool(WORKERS)
