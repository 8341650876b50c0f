"""The material of a panel from a run: its embeddings, its views, and what stands beside them."""

import math

import jax
import numpy as np

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.embedding_files import FACTOR
from contrastive_jax.panel.material import Material
from contrastive_jax.training.embedding import Pixels, embed_split, embed_views
from contrastive_jax.training.restore import restored_run

BASELINES = ('untrained', 'pixels')
MOST_PIXELS = 10_000


def material_of_run(path, *, step=None, limit=10000, baselines=()):
    """What a panel measures of a run.

    Args:
      path: the directory of the run.
      step: of the checkpoint; the newest sound one by default.
      limit: the most examples of each split; more are drawn from at random.
      baselines: of BASELINES: the encoder as it was initialised, and no encoder at all.

    Returns:
      A `Material`.

    Raises:
      BadInput: no run, no checkpoint, or an unknown baseline.
    """
    for name in baselines:
        if name not in BASELINES:
            raise BadInput(f'baselines has {name!r}, not one of: {", ".join(BASELINES)}.')
    experiment, state = restored_run(path, step=step)
    if 'pixels' in baselines and (size := math.prod(experiment.image_shape)) > MOST_PIXELS:
        raise BadInput(
            f"baselines has 'pixels', but an image has {size} numbers; at most {MOST_PIXELS} are "
            'probed.'
        )
    with jax.set_mesh(experiment.mesh):
        encoders = {'': (state.variables, None)}
        if 'untrained' in baselines:
            first = jax.jit(experiment.init_state)(experiment.seed_key)
            encoders['untrained'] = (first.variables, None)
        if 'pixels' in baselines:
            encoders['pixels'] = ({}, Pixels())
        rows, factors, views = {}, {}, {}
        for split in ('train', 'test'):
            found = {
                name: embed_split(experiment, variables, split, model=model, limit=limit)
                for name, (variables, model) in encoders.items()
            }
            own = found.pop('')
            rows[split] = {'h': own['embeddings'], 'z': own['projections']}
            rows[split] |= {name: others['embeddings'] for name, others in found.items()}
            factors[split] = {
                name.removeprefix(FACTOR): values
                for name, values in own.items()
                if name.startswith(FACTOR)
            }
            views[split] = embed_views(experiment, state.variables, split, limit=limit)
    counts = ' and '.join(f'{len(rows[split]["h"])} {split}' for split in rows)
    about = [
        f'The run in {path} after step {int(state.step)}: {counts} examples, nothing drawn, and '
        'views of them as in training.'
    ]
    if np.array_equal(rows['test']['h'], rows['test']['z']):
        for split in rows:
            del rows[split]['z']
            views[split].pop('z', None)
        about.append('The model has no head: z is h.')
    return Material(
        train=rows['train'],
        test=rows['test'],
        train_factors=factors['train'],
        test_factors=factors['test'],
        train_views=views['train'],
        test_views=views['test'],
        about=tuple(about),
    )
