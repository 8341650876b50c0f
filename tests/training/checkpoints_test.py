"""Checkpoints: what is saved is what is restored, while training goes on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax import sharding
from contrastive_jax.errors import BadInput
from contrastive_jax.training import state as states
from contrastive_jax.training.build import build
from contrastive_jax.training.checkpoints import Checkpoints


def equal(a, b):
    jax.tree.map(np.testing.assert_array_equal, a, b)


def test_restored_state_is_the_saved_one_on_the_mesh(tmp_path, config):
    experiment = build(config)
    saved = experiment.init_state(experiment.seed_key)
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(3, saved)
    checkpoints.close()
    again = Checkpoints(tmp_path)
    assert again.latest_step == 3
    restored = again.restore(states.state_shapes(experiment))
    again.close()
    equal(restored, saved)
    leaf = jax.tree.leaves(restored.params)[0]
    assert leaf.sharding == sharding.replicated(experiment.mesh)


def test_a_save_in_the_background_is_not_touched_by_later_donating_steps(tmp_path):
    count = 1_000_000
    bump = jax.jit(lambda tree: jax.tree.map(lambda x: x + 1.0, tree), donate_argnums=0)
    tree = states.TrainState(jnp.int32(0), {'w': jnp.zeros(count)}, {}, {})
    tree = jax.tree.map(lambda x: x.astype(jnp.float32), tree)
    checkpoints = Checkpoints(tmp_path, keep=100)
    for step in range(1, 9):
        tree = bump(tree)
        checkpoints.save(step, tree)
        tree = bump(bump(tree))
    checkpoints.wait()
    like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), tree)
    for step in range(1, 9):
        restored = checkpoints.restore(like, step)
        np.testing.assert_array_equal(restored.params['w'], np.full(count, 3.0 * step - 2.0))
    checkpoints.close()


def test_only_the_newest_are_kept(tmp_path, config):
    experiment = build(config)
    saved = experiment.init_state(experiment.seed_key)
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step in (1, 2, 3):
        checkpoints.save(step, saved)
    checkpoints.wait()
    with pytest.raises(BadInput, match=r'no checkpoint at step 1; the steps kept are: \[2, 3\]'):
        checkpoints.restore(states.state_shapes(experiment), 1)
    checkpoints.close()


def test_a_checkpoint_of_another_model_names_the_differing_arrays(tmp_path, config):
    experiment = build(config)
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, experiment.init_state(experiment.seed_key))
    checkpoints.wait()
    config.model.head_widths = (8, 5)
    other = build(config)
    with pytest.raises(BadInput, match=r'params/.*kernel: saved \(8, 4\), wanted \(8, 5\)'):
        checkpoints.restore(states.state_shapes(other))
    checkpoints.close()
