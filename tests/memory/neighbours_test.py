"""Neighbours against a full sort; rings by where their draws can fall."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from contrastive_jax.memory import neighbours


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    bank = random.normal(size=(50, 6)).astype(np.float32)
    bank /= np.linalg.norm(bank, axis=1, keepdims=True)
    anchors = random.normal(size=(4, 6)).astype(np.float32)
    return jnp.asarray(anchors), jnp.asarray(bank)


def ranking(anchors, bank):
    products = np.asarray(anchors, np.float64) @ np.asarray(bank, np.float64).T
    return np.argsort(-products, axis=1, kind='stable')


@pytest.mark.parametrize('count', [1, 7, 50])
def test_nearest_is_the_head_of_the_sort(rows, count):
    ids = neighbours.nearest(*rows, count=count)
    np.testing.assert_array_equal(ids, ranking(*rows)[:, :count])


def test_approximate_search_finds_nearly_all(rows):
    ids = np.asarray(neighbours.nearest(*rows, count=10, approximate=True))
    exact = ranking(*rows)[:, :10]
    found = sum(len(set(a) & set(b)) for a, b in zip(ids, exact, strict=True))
    assert found >= 0.9 * exact.size


def test_equal_products_go_to_the_lower_ids():
    ids = neighbours.nearest(jnp.ones((1, 3)), jnp.ones((6, 3)), count=4)
    np.testing.assert_array_equal(ids, [[0, 1, 2, 3]])


@pytest.mark.parametrize(
    ('outer', 'inner', 'first', 'last'), [(1.0, 0.0, 0, 50), (0.4, 0.1, 2, 20), (0.001, 0.9, 0, 1)]
)
def test_ring_draws_from_exactly_its_ranks(rows, key, outer, inner, first, last):
    draw = jax.jit(neighbours.ring, static_argnames='num_draws')
    ids = np.asarray(draw(*rows, outer=outer, inner=inner, num_draws=2000, key=key))
    order = ranking(*rows)
    for i in range(4):
        assert set(ids[i]) == set(order[i, first:last])
        counts = np.bincount(ids[i], minlength=50)[order[i, first:last]]
        mean = 2000 / (last - first)
        assert np.max(np.abs(counts - mean)) < 6 * np.sqrt(mean)


def test_ring_of_equal_products_goes_by_id(key):
    ids = neighbours.ring(
        jnp.ones((3, 2)), jnp.ones((20, 2)), outer=0.5, inner=0.2, num_draws=400, key=key
    )
    assert set(np.asarray(ids).ravel()) == set(range(2, 10))


@pytest.mark.parametrize('bank_axis', [None, 'data'])
def test_ring_is_the_same_on_several_devices(rows, key, bank_axis):
    anchors, bank = rows[0], rows[1][:48]
    draw = jax.jit(neighbours.ring, static_argnames='num_draws')
    options = {'outer': 0.4, 'inner': 0.1, 'num_draws': 50, 'key': key}
    expected = draw(anchors, bank, **options)
    mesh = jax.make_mesh((4,), ('data',), (AxisType.Auto,))
    anchors = jax.device_put(anchors, NamedSharding(mesh, PartitionSpec('data')))
    bank = jax.device_put(bank, NamedSharding(mesh, PartitionSpec(bank_axis)))
    with jax.set_mesh(mesh):
        np.testing.assert_array_equal(draw(anchors, bank, **options), expected)
        np.testing.assert_array_equal(neighbours.ring(anchors, bank, **options), expected)


def test_fraction_falls_in_a_line_and_stays():
    fraction = lambda step: float(  # noqa: E731
        neighbours.annealed_fraction(step, num_steps=100, end=0.1)
    )
    assert [fraction(s) for s in (0, 50, 100, 1000)] == pytest.approx([1.0, 0.55, 0.1, 0.1])


def test_bad_input_is_a_value_error(rows):
    with pytest.raises(ValueError, match=r'count must be in 1\.\.50'):
        neighbours.nearest(*rows, count=51)
    with pytest.raises(ValueError, match='num_steps'):
        neighbours.annealed_fraction(0, num_steps=0, end=0.1)
