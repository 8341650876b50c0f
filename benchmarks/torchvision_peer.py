"""The views of `benchmarks.data` by torchvision, one image after another in two processes."""

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


def make_views(job):
    """Makes the views of one worker; nothing but their number is sent back."""
    import torch
    from PIL import Image

    name, size, channels, form, count = job
    torch.set_num_threads(1)
    view = transform(name, size, form)
    pixels = np.random.default_rng(0).integers(0, 256, (size, size, channels), np.uint8)
    if form == 'pil':
        image = Image.fromarray(pixels.squeeze())
    else:
        image = torch.from_numpy(pixels).permute(2, 0, 1).float() / 255
    return sum(view(image) is not None for _ in range(count))


def maker(pool, name, size, channels, form, count):
    """A function that makes `count` views, half of them in each worker of a pool."""
    jobs = [(name, size, channels, form, count // WORKERS)] * WORKERS
    return lambda: pool.map(make_views, jobs, chunksize=1)


def start_workers():
    """Two processes, which start anew: JAX must not be forked."""
    return multiprocessing.get_context('spawn').Pool(WORKERS)
