"""Sources without their data: what a program needs to know of a data set in order to compile."""

import numpy as np

from contrastive_jax import names
from contrastive_jax.data import sources
from contrastive_jax.data.sources.arrays import SMALL_BYTES, check_option

# Of each set: examples of 'train' and 'test' as `prepared.tfds` has them, classes, and the shape of
# an image (None where images differ). Sizes of test splits, and those of imagenette and
# svhn_cropped, are from memory: they change no program but by the number of steps.
SETS = {
    'cifar10': (50_000, 10_000, 10, (32, 32, 3)),
    'cifar100': (50_000, 10_000, 100, (32, 32, 3)),
    'fashion_mnist': (60_000, 10_000, 10, (28, 28, 1)),
    'imagenet2012': (1_281_167, 50_000, 1000, (None, None, 3)),
    'imagenette': (9_469, 3_925, 10, (None, None, 3)),
    'mnist': (60_000, 10_000, 10, (28, 28, 1)),
    'svhn_cropped': (73_257, 26_032, 10, (32, 32, 3)),
}


def open_source(name, split, data_dir='', field='data.source'):
    """`sources.open_source`, but of the sets in SETS only the shapes; those need not be prepared.

    The labels are 0, 1, 2, ... in turn. Where `classes` chooses among them, the number of examples
    is in proportion.
    """
    text, options = names.parse_call(name)
    kind, _, argument = text.partition(':')
    known = SETS.get(argument.partition('/')[0].partition(':')[0]) if kind == 'tfds' else None
    if known is None:
        return sources.open_source(name, split, data_dir, field)
    return names.bind(tfds, options, field)(name, split, *known)


def tfds(name, split, train, test, num_classes, shape, *, size=None, fit='stretch', classes=None):
    """The shapes of a set, with the options of `prepared.tfds`."""
    del fit
    if size is not None or None in shape:
        check_option('size', size, 1)
        shape = (size, size, shape[2])
    count = train if split == 'train' else test
    if classes is not None:
        kept = {'first_half': num_classes // 2, 'second_half': num_classes // 2, 'imagenet100': 100}
        kept = kept[classes] if isinstance(classes, str) else len(classes)
        count, num_classes = count * kept // num_classes, kept
    labels = np.arange(count, dtype=np.int32) % num_classes
    name = f'{name} (shapes alone)'
    if count * int(np.prod(shape)) > SMALL_BYTES:
        return sources.EncodedSource(_unreadable, labels, num_classes, shape, name=name)
    images = np.broadcast_to(np.uint8(0), (count, *shape))
    return sources.ArraySource(images, labels, num_classes, name)


def _unreadable(position):
    raise RuntimeError(f'example {position} of shapes alone was read')
