"""Sources: where images and labels come from. What `config.data.source` may say.

A source has `image_shape`, `num_classes`, `name`, `labels` and a length; `[i]` gives a dict of
`image` (uint8 [h, w, c]), `label` and `id` (int32), and `take(ids)` the same for several ids,
stacked. A source without labels has 0 classes and every label -1. Nothing here needs TensorFlow.
"""

from contrastive_jax import names
from contrastive_jax.data.sources.arrays import ArraySource
from contrastive_jax.data.sources.embedded_digits import digits
from contrastive_jax.data.sources.encoded import EncodedSource
from contrastive_jax.data.sources.generated import noise, synthetic
from contrastive_jax.data.sources.image_folder import folder
from contrastive_jax.data.sources.packaged_photographs import photographs
from contrastive_jax.data.sources.prepared import tfds
from contrastive_jax.errors import BadInput

__all__ = ['SPLITS', 'ArraySource', 'EncodedSource', 'open_source']

SPLITS = ('train', 'test')

# Each kind is a function of (argument, split, data_dir) with its options as keywords, and is shown
# with the argument that stands behind its colon, if it has one.
KINDS = {
    'digits': (digits, 'digits'),
    'tfds': (tfds, 'tfds:<name>'),
    'folder': (folder, 'folder:<path>'),
    'noise': (noise, 'noise:<count>'),
    'synthetic': (synthetic, 'synthetic:<count>'),
    'photographs': (photographs, 'photographs'),
}


def open_source(name, split, data_dir='', field='data.source'):
    """A source by name.

    Args:
      name: a kind, its argument, and options as in a call; the functions named document them:
        'digits' (embedded_digits.py), 'tfds:mnist' or 'tfds:tf_flowers,size=224' (prepared.py),
        'folder:photos,size=64' (image_folder.py), 'noise:10000,size=32' and 'synthetic:10000'
        (generated.py), 'photographs,size=32' (packaged_photographs.py).
      split: 'train' or 'test'.
      data_dir: for TFDS the directory it prepared the data in, local or gs://; '' is TFDS's own
        default. For a folder what its path is relative to. Not used by the others.
      field: of the config that names the source, for errors.

    Returns:
      An `ArraySource`, or an `EncodedSource` when the decoded images would not fit in memory.

    Raises:
      BadInput: an unknown name, option or split, or data that are not there; the message says how
        to get them.
    """
    if split not in SPLITS:
        raise BadInput(f'split is {split!r}, not one of: {", ".join(SPLITS)}.')
    try:
        return _open(name, split, data_dir)
    except BadInput as error:
        # Those who read a source know nothing of what it is for.
        raise BadInput(str(error).replace('config.data.source', f'config.{field}')) from error


def _open(name, split, data_dir):
    if not isinstance(name, str):
        raise BadInput(f"config.data.source is {name!r}, not the name of a source, as 'digits' is.")
    text, options = names.parse_call(name)
    kind, _, argument = text.partition(':')
    function, form = KINDS.get(kind, (None, ''))
    if function is None or bool(argument) != (':' in form):
        forms = ', '.join(repr(form) for _, form in KINDS.values())
        raise BadInput(
            f'config.data.source is {name!r}, not one of: {forms}; options follow as in '
            "'tfds:tf_flowers,size=224'." + names.nearest(kind, KINDS.keys() - {kind})
        )
    return names.bind(function, options, 'data.source')(argument, split, data_dir)
