"""What a panel measures: representations of the examples of two splits, and of pairs of views."""

from typing import Any, NamedTuple

import numpy as np

from contrastive_jax.errors import BadInput


class LocalFeatures(NamedTuple):
    """Feature maps of a few test images.

    Attributes:
      images: [n, H, W, 1 or 3] in [0, 1].
      maps: dict of layer, first to last, to [n, h, w, c] of the same images.
      regions: int [n, H, W], which pixels belong to what was laid on the images, 0 the
        background; or None.
      untrained: dict of the same layers to the maps of the encoder as it was initialised; or {}.
    """

    images: Any
    maps: dict
    regions: Any = None
    untrained: dict = {}


class Material(NamedTuple):
    """Representations by name: 'h', 'z', and whatever stands beside them for comparison.

    Attributes:
      train: dict of name to rows [n, d] that probes are fitted on.
      test: dict of the same names to rows [m, d], which are measured.
      train_factors: dict of name to integers [n]; the class is `label`.
      test_factors: dict of the same names to integers [m].
      train_views: dict of name to (a, b), rows of two views of the same examples; {} if unknown.
      test_views: likewise, of examples held out from those.
      in_file_order: whether the rows come as they stand in a file of the user's.
      about: sentences that say where all this comes from.
      temperature: of the run's loss, where its gradient is a softmax of cosines over all negatives;
        or None.
      test_latents: real numbers [m, k] that the test examples were made of, or None.
      latent_groups: dict of a name, 'content' or 'style', to its columns of the latents.
      test_layers: dict of the layers of the encoder before h, first to last, to rows [m, w].
      weights: dict of name, which ends in 'kernel', to the matrix [inputs, outputs] of a dense
        layer.
      local: `LocalFeatures`, or None.
    """

    train: dict
    test: dict
    train_factors: dict
    test_factors: dict
    train_views: dict
    test_views: dict
    about: tuple
    in_file_order: bool = False
    temperature: float | None = None
    test_latents: Any = None
    latent_groups: dict = {}
    test_layers: dict = {}
    weights: dict = {}
    local: Any = None


def representations(embeddings):
    """The rows of an `Embeddings` by name."""
    return {'h': embeddings.h} | ({} if embeddings.z is None else {'z': embeddings.z})


def of_files(test, train=None, views=None, *, seed=0):
    """The material of one to three files.

    Args:
      test: an `Embeddings`.
      train: an `Embeddings` to fit probes on; without it, half of the rows of `test`, drawn by
        `seed`, are fitted on and the other half is measured.
      views: an `Embeddings`, row i of which is another view of example i of `test`.
      seed: of that draw.

    Raises:
      BadInput: files whose rows, dimensions or factors do not belong together.
    """
    about = [f'{len(test.h)} rows of {test.source}.']
    rows, factors, latents = representations(test), test.factors, test.latents
    pairs = {}
    if views is not None:
        if len(views.h) != len(test.h):
            raise BadInput(
                f'{views.source} has {len(views.h)} rows and {test.source} {len(test.h)}: row i of '
                'both must be of one example.'
            )
        others = representations(views)
        pairs = {name: (rows[name], others[name]) for name in rows if name in others}
        about.append(f'{views.source} has the other view of each.')
    mixed = np.random.default_rng(seed).permutation(len(test.h))
    # In the order of the file, which the doctor looks at.
    first, second = np.sort(mixed[: len(mixed) // 2]), np.sort(mixed[len(mixed) // 2 :])
    if not len(first):
        raise BadInput(f'{test.source} has 1 row; at least 2 are needed.')
    train_views = {name: (a[first], b[first]) for name, (a, b) in pairs.items()}
    test_views = {name: (a[second], b[second]) for name, (a, b) in pairs.items()}
    if train is None:
        about.append('Probes are fitted on a random half of the rows; the other half is measured.')
        train_rows = {name: values[first] for name, values in rows.items()}
        train_factors = {name: values[first] for name, values in factors.items()}
        rows = {name: values[second] for name, values in rows.items()}
        factors = {name: values[second] for name, values in factors.items()}
        latents = latents if latents is None else latents[second]
    else:
        about.append(f'Probes are fitted on {len(train.h)} rows of {train.source}.')
        train_rows, train_factors = representations(train), train.factors
        for name in rows:
            if name in train_rows and train_rows[name].shape[1] != rows[name].shape[1]:
                raise BadInput(
                    f'{name} has {train_rows[name].shape[1]} dimensions in {train.source} and '
                    f'{rows[name].shape[1]} in {test.source}.'
                )
    shared = [name for name in factors if name in train_factors]
    return Material(
        train={name: train_rows[name] for name in rows if name in train_rows},
        test=rows,
        train_factors={name: train_factors[name] for name in shared},
        test_factors={name: factors[name] for name in shared},
        train_views=train_views,
        test_views=test_views,
        about=tuple(about),
        in_file_order=True,
        test_latents=latents,
    )
