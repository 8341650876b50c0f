"""The sorts that are compared are sorts, ties included, and so are their gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from launch import sorts

VALUES = np.array([[3.0, -1.0, 3.0, 0.5, -1.0], [0.0, 2.0, -2.0, 2.0, 2.0]], np.float32)


@pytest.mark.parametrize('name', ['plain', 'scatter', 'second sort', 'rank with tie-breaking'])
def test_each_form_sorts_rows_and_brings_gradients_back_with_ties_in_place(name):
    form = sorts.forms()[name]
    weights = np.arange(10, dtype=np.float32).reshape(2, 5)
    ordered, pull = jax.vjp(form, jnp.asarray(VALUES))
    np.testing.assert_array_equal(ordered, np.sort(VALUES, axis=1))
    np.testing.assert_array_equal(form(jnp.asarray(VALUES)), ordered)
    order = np.argsort(VALUES, axis=1, kind='stable')
    expected = np.zeros_like(weights)
    np.put_along_axis(expected, order, weights, axis=1)
    np.testing.assert_array_equal(pull(jnp.asarray(weights))[0], expected)


def test_a_table_gives_ratios_and_takes_no_negative_estimate():
    results = {'v5e:4x4': {'second sort': (2e-5, 2**20), 'plain': (3e-5, 2**21), 'x': (-1.0, 0)}}
    lines = sorts.table(results).splitlines()
    assert lines[0] == '| sort | v5e:4x4: estimate | v5e:4x4: memory |'
    assert '| plain | 30 µs, x 1.50 | 2.00 MiB, x 2.00 |' in lines
    assert '| x | no estimate | 0.00 MiB, x 0.00 |' in lines
    results['v5e:4x4']['second sort'] = (2e-5, 0)  # all on the chip: there is no ratio
    assert '| plain | 30 µs, x 1.50 | 2.00 MiB |' in sorts.table(results).splitlines()
