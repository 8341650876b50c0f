"""Embeddings of a whole source: every example once, in order, in inference mode."""

import jax
import numpy as np
from tqdm import tqdm

from contrastive_jax import sharding
from contrastive_jax.data import batches

# A bar is shown of what takes longer.
PATIENCE_SECONDS = 5


def embed(step, variables, source, split_key, mesh, *, ids=None, batch_size=1000):
    """What an encoder makes of every example of a source; each of several hosts reads its share.

    Args:
      step: jitted (variables, batch, split_key) -> dict of arrays [b, ...], whole on every host if
        there are several; variables are read only, so no probe can reach the encoder.
      variables: the model's.
      source: a source.
      split_key: the key of the run's seed for the role of the split.
      mesh: the devices.
      ids: int [k] of the examples; None for all.
      batch_size: about how many examples at once; rounded up to a multiple of the devices. It has
        no influence on the result.

    Returns:
      dict of NumPy arrays [n, ...]: what the step returns, `labels` and `ids`.
    """
    count = len(source) if ids is None else len(ids)
    size = -(-min(batch_size, count) // mesh.size) * mesh.size
    pieces = []
    share = dict(host=jax.process_index(), num_hosts=jax.process_count())
    with tqdm(
        total=count, desc='embedding', unit='example', leave=False, delay=PATIENCE_SECONDS,
        disable=jax.process_index() > 0,
    ) as bar:  # fmt: skip
        for batch in batches.evaluation_batches(source, batch_size=size, ids=ids, **share):
            known = {'labels': batch['label'], 'ids': batch['id'], 'weight': batch.pop('weight')}
            outputs = step(variables, sharding.to_devices(batch, mesh), split_key)
            outputs = {**jax.device_get(outputs), **sharding.from_all_hosts(known, mesh)}
            real = outputs.pop('weight') > 0
            pieces.append({name: np.asarray(rows)[real] for name, rows in outputs.items()})
            bar.update(int(real.sum()))
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
