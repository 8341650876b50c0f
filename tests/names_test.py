"""Names: lookups and bindings that fail early, with the choices."""

import math

import pytest

from contrastive_jax import losses, names
from contrastive_jax.errors import BadInput


def scaled(x, *, scale, offset=0):
    return scale * x + offset


def test_pick_finds_a_public_name():
    assert names.pick(losses, 'nt_xent', 'loss.name') is losses.nt_xent


def test_pick_names_field_value_choices_and_the_nearest():
    with pytest.raises(BadInput, match=r"config.loss.name is 'nt_xnt'.*Did you mean 'nt_xent'"):
        names.pick(losses, 'nt_xnt', 'loss.name')


def test_pick_does_not_reach_private_names():
    with pytest.raises(BadInput):
        names.pick(math, 'sqrt', 'x') if hasattr(math, '__all__') else names.pick(
            losses, 'infonce', 'loss.name'
        )


def test_bind_binds():
    assert names.bind(scaled, {'scale': 2, 'offset': 1}, 'loss')(3) == 7


def test_bind_refuses_an_unknown_option_and_names_the_nearest():
    with pytest.raises(BadInput, match=r"config.loss.scal is not an option.*mean 'scale'"):
        names.bind(scaled, {'scal': 2}, 'loss')


def test_bind_refuses_a_missing_option():
    with pytest.raises(BadInput, match=r'config.loss.scale is missing'):
        names.bind(scaled, {}, 'loss')


def test_bind_leaves_supplied_options_to_the_caller():
    assert names.bind(scaled, {}, 'loss', supplied=('scale',))(3, scale=2) == 6
    with pytest.raises(BadInput):
        names.bind(scaled, {'scale': 1}, 'loss', supplied=('scale',))


def test_check_field_walks_the_tree():
    tree = {'data': {'num_bits': 0}}
    names.check_field(tree, 'data.num_bits')
    with pytest.raises(BadInput, match=r"no 'num_bit'.*Did you mean 'num_bits'"):
        names.check_field(tree, 'data.num_bit')
    with pytest.raises(BadInput, match='it is a value'):
        names.check_field(tree, 'data.num_bits.x')
