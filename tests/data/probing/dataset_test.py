"""An example is the same on one device or four, and at any place of a batch."""

import jax
import numpy as np
import pytest

from contrastive_jax import sharding
from contrastive_jax.data import probing, sources
from contrastive_jax.data.probing.dataset import evaluation_draws
from contrastive_jax.randomness import Role, key_for, keys_for_examples
from tests.data.probing.composing import composed

DATASETS = {
    'randbit, hashed': lambda digits, hosts: probing.randbit(hosts, num_bits=9, code='hashed'),
    'multidigits': lambda digits, hosts: probing.multidigits(
        digits, num_digits=3, sizes=(20, 28, 20), canvas=40
    ),
    'digit_on_image': lambda digits, hosts: probing.digit_on_image(hosts, digits=digits),
    'cdp': lambda digits, hosts: probing.cdp(digits, backgrounds=hosts),
    'k_bit_images': lambda digits, hosts: probing.k_bit_images(hosts, num_bits=9),
    'spirals': lambda digits, hosts: probing.spirals(hosts, noise=0.4),
    'gaussian_pair': lambda digits, hosts: probing.gaussian_pair(hosts, dimensions=2),
    'content_style': lambda digits, hosts: probing.content_style(hosts),
}


@pytest.mark.parametrize('make', DATASETS.values(), ids=DATASETS.keys())
def test_four_devices_and_any_order_give_the_images_of_one(make):
    hosts = np.random.default_rng(0).integers(0, 256, (40, 12, 14, 3), np.uint8)
    hosts = sources.ArraySource(hosts, np.arange(40) % 4, num_classes=4)
    dataset = make(sources.open_source('digits', 'train'), hosts)
    expected = composed(dataset, np.arange(8))
    ids = np.array([5, 0, 7, 7, 2, 1, 3, 6])

    mesh = sharding.data_mesh()
    assert mesh.size == 4
    rows, whole = sharding.batch_sharding(mesh), sharding.replicated(mesh)

    def compose(keys, examples, tables):
        draws = jax.vmap(evaluation_draws)(keys)
        return jax.vmap(dataset.compose, in_axes=(0, 0, None))(draws, examples, tables)

    keys = keys_for_examples(key_for(0, Role.TRAIN_EXAMPLES), ids.astype(np.int32))
    inputs = (keys, dataset.source.take(ids), dict(dataset.tables))
    sharded = jax.jit(compose, in_shardings=(rows, rows, whole), out_shardings=rows)
    program = sharded.lower(*inputs).compile()
    for name, values in program(*jax.device_put(inputs, (rows, rows, whole))).items():
        np.testing.assert_allclose(values, expected[name][ids], atol=1e-6, err_msg=name)
    # Each device composes its own rows: none waits for another.
    for collective in ('all-gather', 'all-reduce', 'all-to-all', 'collective-permute'):
        assert collective not in program.as_text()
