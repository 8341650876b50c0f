"""A folder of image files, one sub-folder a class."""

import hashlib
from pathlib import Path

import numpy as np

from contrastive_jax.data.sources import splitting
from contrastive_jax.data.sources.arrays import check_option
from contrastive_jax.data.sources.encoded import EncodedSource, in_memory_if_small
from contrastive_jax.errors import BadInput

SUFFIXES = {'.jpg', '.jpeg', '.png', '.webp', '.bmp', '.gif', '.ppm', '.tif', '.tiff'}
FITS = ('stretch', 'centre')


def folder(argument, split, data_dir, *, size, fit='stretch'):
    """'folder:photos/art,size=64': images at any depth under <path>/<class>/.

    With sub-folders train/ and test/ each split is one of them, with the classes inside. Else one
    file in ten is held out, by a hash of its path relative to the folder. Classes are the
    sub-folders of both splits in alphabetical order. So one of PACS's domains is
    'folder:PACS/art_painting,size=224', of 7 classes.

    Args:
      argument: the path, relative to `data_dir`.
      split: 'train' or 'test'.
      data_dir: '' for the current directory.
      size: height and width that images are decoded to, in colour.
      fit: 'stretch' or 'centre', see `host_crops.decode`.

    Returns:
      An `ArraySource`, or an `EncodedSource` above 2 GiB of decoded images.

    Raises:
      BadInput: no such folder, no class or image in it, or too many damaged images.
    """
    check_option('size', size, 1)
    check_fit(fit)
    home = Path(data_dir) / argument
    if not home.is_dir():
        raise BadInput(f"config.data.source is 'folder:{argument}': {home} is not a directory.")
    files, classes = files_of_split(home, split)
    if not files:
        raise BadInput(
            f"config.data.source is 'folder:{argument}', whose {split} part has no image; "
            f'expected {home}/<class>/<image> with an image of: {", ".join(sorted(SUFFIXES))}.'
        )
    labels = np.array([classes.index(label) for _, label in files], np.int32)
    source = EncodedSource(
        read=lambda position: (str(files[position][0]), files[position][0].read_bytes()),
        labels=labels,
        num_classes=len(classes),
        image_shape=(size, size, 3),
        fit=fit,
        name=f'{home.name}/{split}',
    )
    return in_memory_if_small(source, f'folder_{home.name}_{split}', fingerprint(home, files))


def files_of_split(home, split):
    """([(path, class)] in order of path, all classes) of one split of a folder."""
    apart = all((home / part).is_dir() for part in ('train', 'test'))
    roots = [home / part for part in ('train', 'test')] if apart else [home]
    classes = sorted({path.name for root in roots for path in root.iterdir() if path.is_dir()})
    root = home / split if apart else home
    paths = sorted(
        path.relative_to(root)
        for path in root.rglob('*')
        if path.suffix.lower() in SUFFIXES and path.is_file()
    )
    paths = [path for path in paths if len(path.parts) > 1]  # the others have no class
    if not apart:
        keys = [path.as_posix() for path in paths]
        paths = [paths[position] for position in splitting.of_split(keys, split)]
    return [(root / path, path.parts[0]) for path in paths], classes


def fingerprint(home, files):
    """What identifies the files: where they are, their names, sizes and times."""
    digest = hashlib.sha256(str(home.resolve()).encode())
    for path, _ in files:
        status = path.stat()
        digest.update(f'{path.relative_to(home)} {status.st_size} {status.st_mtime_ns}'.encode())
    return digest.hexdigest()


def check_fit(fit):
    """Raises BadInput unless `fit` is a way to bring an image to a size."""
    if fit not in FITS:
        raise BadInput(f'config.data.source has fit={fit!r}, not one of: {", ".join(FITS)}.')
