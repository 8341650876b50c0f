"""Weights in torchvision's format: outputs as torch's, both ways, files, what does not fit."""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax import models
from contrastive_jax.errors import BadInput
from contrastive_jax.models.torchvision_weights import (
    from_torchvision,
    read_weights,
    to_torchvision,
    write_weights,
)
from tests.models import torchvision_golden as golden

LINEAR = dict(head_layers=1, head_batch_norm=False, dimensions=golden.CLASSES)


def template(depth=18, side=32, variant='torchvision', **options):
    """A network, and the shapes of its variables."""
    network = models.resnet(depth=depth, variant=variant, **{**LINEAR, **options})
    images = jnp.zeros((1, side, side, 3))
    return network, jax.eval_shape(lambda: network.init(jax.random.key(0), images, train=False))


def zeros(tree):
    return jax.tree.map(lambda leaf: np.zeros(leaf.shape, np.float32), tree)


def draw_weights(variables):
    shapes = {n: a.shape for n, a in to_torchvision(zeros(variables), with_head=True).items()}
    return golden.weights(shapes)


@pytest.mark.parametrize(
    'case',
    [
        pytest.param(case, marks=pytest.mark.slow if 'resnet50' in case else [])
        for case in golden.CASES
    ],
)
def test_outputs_equal_those_of_torch(case):
    depth, side, options = golden.CASES[case]
    network, variables = template(depth, side, **options)
    variables = from_torchvision(variables, draw_weights(variables), with_head=True)
    images = golden.images(side)
    h, logits = jax.jit(lambda v: network.apply(v, images, train=False))(variables)
    (trained_h, _), updated = jax.jit(
        lambda v: network.apply(v, images, train=True, mutable=['batch_stats'])
    )(variables)
    before, after = (v['batch_stats']['layer1_0']['bn2'] for v in (variables, updated))
    # torch averages the unbiased variance, over the places of group 1 in all images.
    side_of_group = side if options.get('stem') == 'cifar' else -(-side // 4)
    places = golden.NUM_IMAGES * side_of_group**2
    batch_var = (after['var'] - np.float32(0.9) * before['var']) / np.float32(0.1)
    unbiased = np.float32(0.9) * before['var'] + np.float32(0.1 * places / (places - 1)) * batch_var
    found = golden.summary(
        *(np.asarray(array) for array in (h, logits, trained_h, after['mean'], unbiased))
    )
    np.testing.assert_allclose(found, golden.GOLDEN[case], atol=1e-4, rtol=0)


def test_names_are_torchs_and_arrays_in_its_layout():
    _, variables = template()
    weights = to_torchvision(zeros(variables), with_head=True)
    shapes = {name: array.shape for name, array in weights.items()}
    assert shapes['conv1.weight'] == (64, 3, 7, 7)
    assert shapes['layer2.0.conv1.weight'] == (128, 64, 3, 3)
    assert shapes['layer2.0.downsample.0.weight'] == (128, 64, 1, 1)
    assert shapes['layer2.0.downsample.1.running_var'] == (128,)
    assert shapes['layer4.1.bn2.bias'] == (512,)
    assert shapes['fc.weight'] == (golden.CLASSES, 512)
    assert 'layer1.0.downsample.0.weight' not in shapes
    # 20 convolutions, 20 batch norms of 4 arrays, the classifier's 2.
    assert len(shapes) == 20 + 80 + 2


@pytest.mark.parametrize('options', [{}, {'head_layers': 3}, {'variant': 'simclr', 'depth': 50}])
def test_there_and_back_changes_nothing(options):
    _, variables = template(width=1 / 16, **options)
    weights = draw_weights(variables)
    back = to_torchvision(from_torchvision(variables, weights, with_head=True), with_head=True)
    assert set(back) == set(weights)
    for name in weights:
        np.testing.assert_array_equal(back[name], weights[name])
        assert back[name].dtype == np.float32


def test_head_of_several_layers_has_mocos_names():
    _, variables = template(width=1 / 16, head_layers=2)
    names = {name for name in to_torchvision(zeros(variables), with_head=True) if 'fc' in name}
    assert names == {'fc.0.weight', 'fc.0.bias', 'fc.2.weight', 'fc.2.bias'}


def test_encoder_is_read_under_a_prefix_and_the_head_is_kept():
    _, variables = template(width=1 / 16, head_layers=2, head_batch_norm=True)
    variables = jax.tree.map(lambda leaf: np.full(leaf.shape, 7, np.float32), variables)
    _, other = template(width=1 / 16)
    weights = {f'encoder.{n}': a.astype(np.float16) for n, a in draw_weights(other).items()}
    weights |= {'encoder.bn1.num_batches_tracked': np.int64(3), 'queue': np.zeros(3)}
    found = from_torchvision(variables, weights, prefix='encoder.')
    assert jax.tree.structure(found) == jax.tree.structure(variables)
    np.testing.assert_array_equal(
        found['params']['layer3_1']['conv2']['kernel'][1, 2, :, 3],
        weights['encoder.layer3.1.conv2.weight'][3, :, 1, 2].astype(np.float32),
    )
    kept = jax.tree.leaves(found['params']['head'])
    assert len(kept) == 5
    assert all(np.all(leaf == 7) for leaf in kept)


@pytest.mark.parametrize(
    ('change', 'sentence'),
    [
        (lambda w: w.pop('bn1.bias'), "the weights have no 'bn1.bias', which params/bn1/bias of"),
        (
            lambda w: w.update({'layer1.2.bn1.bias': np.zeros(4), 'x': np.zeros(1)}),
            "the weights have 'layer1.2.bn1.bias' and 1 more that the network lacks: they are of",
        ),
        (
            lambda w: w.update({'conv1.weight': np.zeros((4, 3, 3, 3))}),
            r"'conv1.weight' have the shape \(3, 3, 3, 4\) in the order of params/conv1/kernel of "
            r'the network, which has \(7, 7, 3, 4\)',
        ),
        (
            lambda w: w.update({'fc.weight': np.zeros((1000, 32))}),
            r"'fc.weight' have the shape \(32, 1000\)",
        ),
    ],
)
def test_weights_of_another_network_are_named(change, sentence):
    _, variables = template(width=1 / 16)
    weights = draw_weights(variables)
    change(weights)
    with pytest.raises(BadInput, match=sentence):
        from_torchvision(variables, weights, with_head=True)


@pytest.mark.parametrize(
    'options',
    [
        {'variant': 'simclr', 'selective_kernels': True},
        {'variant': 'simclr', 'selective_kernels': True, 'depth': 50, 'stem': 'cifar'},
        {'head_batch_norm': True},
    ],
)
def test_networks_that_torchvision_lacks(options):
    _, variables = template(width=1 / 16, **options)
    with pytest.raises(BadInput, match="of the network has no counterpart in torchvision's"):
        to_torchvision(variables, with_head=True)


def test_safetensors_files_have_the_public_format(tmp_path):
    pytest.importorskip('safetensors')
    path = tmp_path / 'encoder.safetensors'
    # A transposed view, which lies in another order in memory.
    weights = {'a': np.arange(6, dtype=np.float32).reshape(2, 3).T, 'b': np.float32([7])}
    write_weights(path, weights)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], 'little')
    entry = json.loads(data[8 : 8 + length])['a']
    start, end = (8 + length + offset for offset in entry['data_offsets'])
    assert (entry['dtype'], entry['shape']) == ('F32', [3, 2])
    np.testing.assert_array_equal(np.frombuffer(data[start:end], np.float32), [0, 3, 1, 4, 2, 5])
    found = read_weights(path)
    assert set(found) == set(weights)
    for name in weights:
        np.testing.assert_array_equal(found[name], weights[name])


@pytest.mark.parametrize('wrap', [lambda w: w, lambda w: {'state_dict': w, 'epoch': 3}])
def test_state_dicts_of_torch(tmp_path, wrap):
    torch = pytest.importorskip('torch')
    path = tmp_path / 'encoder.pth'
    weights = {'a': np.arange(6, dtype=np.float32).reshape(2, 3).T, 'b': np.float32([7])}
    write_weights(path, weights)
    torch.save(wrap(torch.load(path)), path)
    found = read_weights(path)
    assert set(found) == set(weights)
    for name in weights:
        np.testing.assert_array_equal(found[name], weights[name])


@pytest.mark.parametrize(
    ('name', 'package'), [('a.safetensors', 'safetensors'), ('a.pth', 'torch'), ('a.pt', 'torch')]
)
def test_a_missing_package_is_named(tmp_path, monkeypatch, name, package):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f'{package}.numpy', None)
    (tmp_path / name).touch()
    sentence = f'{name} needs the package {package}: pip install {package}'
    with pytest.raises(BadInput, match=sentence):
        read_weights(tmp_path / name)
    with pytest.raises(BadInput, match=sentence):
        write_weights(tmp_path / name, {})


def test_no_such_file(tmp_path):
    with pytest.raises(BadInput, match=r'none\.safetensors is not a file of weights'):
        read_weights(tmp_path / 'none.safetensors')
