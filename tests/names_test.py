"""Names: lookups and bindings that fail early, with the choices."""

import functools
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
        names.pick(losses, 'infonce', 'loss.name')


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


def test_a_function_of_the_user_is_imported_by_path():
    assert names.pick_or_import(losses, 'math:sqrt', 'loss.name') is math.sqrt
    assert names.pick_or_import(losses, 'nt_xent', 'loss.name') is losses.nt_xent
    with pytest.raises(BadInput, match="'no_module' cannot be imported"):
        names.pick_or_import(losses, 'no_module:f', 'loss.name')
    with pytest.raises(BadInput, match="has no function 'sqr'. Did you mean 'sqrt'"):
        names.pick_or_import(losses, 'math:sqr', 'loss.name')


def test_a_function_is_its_own_name():
    assert names.pick_or_import(losses, scaled, 'loss.name') is scaled
    with pytest.raises(BadInput, match='config.loss.name is 3, not one of'):
        names.pick_or_import(losses, 3, 'loss.name')


@pytest.mark.parametrize('function', [losses.nt_xent, math.sqrt, pytest.approx])
def test_the_path_of_a_function_finds_it_again(function):
    path = names.path_of(losses, function, 'loss.name')
    assert names.pick_or_import(losses, path, 'loss.name') is function


def test_the_path_of_a_public_function_is_its_name():
    assert names.path_of(losses, losses.nt_xent, 'loss.name') == 'nt_xent'
    assert names.public_name(losses, losses.nt_xent) == 'nt_xent'
    assert names.public_name(losses, scaled) is None


def local(x):
    return x


local.__module__ = '__main__'


@pytest.mark.parametrize(
    'function',
    [
        lambda x: x,
        (lambda: lambda x: x)(),
        functools.partial(scaled, scale=1),
        [].append,
        local,
    ],
    ids=['lambda', 'nested', 'partial', 'method', 'main'],
)
def test_a_function_that_cannot_be_found_again_has_no_path(function):
    with pytest.raises(BadInput, match='config.loss.name is .*another process cannot import'):
        names.path_of(losses, function, 'loss.name')


def test_parameters_beyond_the_arrays_are_options():
    def loss(z1, z2, tau, offset=0):
        return z1 + z2 + tau + offset

    assert names.bind(loss, {'tau': 3}, 'loss', arrays=2)(1, 2) == 6
    with pytest.raises(BadInput, match="config.loss.tua is not an option of loss.*mean 'tau'"):
        names.bind(loss, {'tua': 3}, 'loss', arrays=2)
    with pytest.raises(BadInput, match='config.loss.tau is missing'):
        names.bind(loss, {}, 'loss', arrays=2)
    with pytest.raises(BadInput, match='config.loss.tau is not an option'):
        names.bind(loss, {'tau': 3}, 'loss')


def test_a_partial_is_named_in_errors_too():
    with pytest.raises(BadInput, match='config.loss.scal is not an option of functools.partial'):
        names.bind(functools.partial(scaled, offset=1), {'scal': 2}, 'loss')


def test_a_function_of_any_options_takes_any():
    assert names.bind(lambda x, **options: options, {'a': 1}, 'loss')(0) == {'a': 1}


def test_sections_within_sections_are_read_from_text():
    assert names.parse_options('momentum=0.5,close=nearest(count=10),temperature=dict(a=(1,))') == {
        'momentum': 0.5,
        'close': {'name': 'nearest', 'count': 10},
        'temperature': {'a': (1,)},
    }


def test_a_call_is_read_from_text():
    assert names.parse_call('knn,k=1') == ('knn', {'k': 1})
    assert names.parse_call('a.b:c,tau=[0.1, 2],kind=cosine') == (
        'a.b:c',
        {'tau': [0.1, 2], 'kind': 'cosine'},
    )
    for text in ('knn,k', 'knn,k=', 'knn,**x', 'knn,k=f(1)', 'knn,k=a.b(c=1)'):
        with pytest.raises(BadInput, match='must look like'):
            names.parse_call(text)
