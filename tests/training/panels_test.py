"""What the panel gets of a run beyond its embeddings: layers, latents, weights and feature maps."""

import inspect
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax import losses, sharding
from contrastive_jax.data.sources import EncodedSource
from contrastive_jax.evaluation import hardness
from contrastive_jax.training import bind_loss, panels
from contrastive_jax.training.build import build
from contrastive_jax.training.embedding import embed_split


def test_a_run_of_vectors_has_latents_and_layers(config):
    config.data = dict(source='synthetic:60', data_dir='', probing='spirals', noise=0.4)
    config.views = dict(name='none')
    config.model = dict(name='mlp', widths=(5, 4), head_widths=(3, 2))
    config.evaluation = dict(name='linear_probe', factor='arm')
    experiment = build(config, sharding.data_mesh(1))
    state = jax.jit(experiment.init_state)(experiment.seed_key)
    with jax.set_mesh(experiment.mesh):
        own = embed_split(experiment, state.variables, 'test')
    found = panels.beyond_embeddings(experiment, state, config.to_dict(), own)
    assert found['temperature'] == 0.2
    assert found['test_latents'].shape == (len(own['embeddings']), 2)
    # Dense_1 is h before its leaky ReLU; those behind h are of the head.
    assert {name: rows.shape[1] for name, rows in found['test_layers'].items()} == {
        'Dense_0': 5, 'Dense_1': 4,
    }  # fmt: skip
    hidden = found['test_layers']['Dense_1']
    h = np.where(hidden > 0, 1, 0.01) * hidden
    np.testing.assert_allclose(h, own['embeddings'], atol=1e-6)
    assert {name: matrix.shape for name, matrix in found['weights'].items()} == {
        'Dense_0/kernel': (2, 5), 'Dense_1/kernel': (5, 4), 'Dense_2/kernel': (4, 3),
        'Dense_3/kernel': (3, 2),
    }  # fmt: skip
    assert found['local'] is None
    # One that is h itself is left out, however another program rounded it.
    own['embeddings'] = hidden * np.float32(1 + 3e-6)
    with jax.set_mesh(experiment.mesh):
        layers = panels.rows_of_layers(experiment, state.variables, own, None)
    assert list(layers) == ['Dense_0']


@pytest.mark.parametrize(
    ('loss', 'expected'),
    [
        (dict(name='nt_xent', temperature=0.3), 0.3),
        (dict(name='nt_xent', temperature=0.3, similarity='inner_product'), None),
        (dict(name='nt_xent', temperature=dict(initial=0.3)), None),
        (dict(name='box_info_nce', temperature=1.0), None),
        (dict(name='nt_xent', temperature=[0.3, 0.4]), None),
        (dict(name='generalized_contrastive', prior='uniform_hypersphere', temperature=1.0), 1.0),
        (dict(name='generalized_contrastive', prior='normal', temperature=None), None),
        (dict(name='simple_contrastive'), None),
        (dict(name='somewhere:else', temperature=0.3), None),
    ],
)
def test_the_temperature_is_one_number_of_a_loss_of_cosines(loss, expected):
    assert panels.temperature_of(loss) == expected


# The hardest alone, sets of the bank, some dimensions, distances, sigmoids, several positives, or
# two encoders, whose z is not compared as a whole.
OTHERWISE = {
    'annulus', 'ball', 'box_info_nce', 'contrastive_multiview_coding', 'directclr',
    'hard_contrastive', 'in_batch_hard', 'instance_discrimination_noise_contrastive',
    'local_aggregation', 'supcon',
}  # fmt: skip


def test_every_loss_with_a_temperature_is_a_softmax_over_all_negatives_or_known_not_to_be():
    having = {
        name
        for name in bind_loss.trainable_losses()
        if 'temperature' in inspect.signature(getattr(losses, name)).parameters
    }
    given = {name: panels.temperature_of(dict(name=name, temperature=0.3)) for name in having}
    assert {name for name, temperature in given.items() if temperature is None} == OTHERWISE


def gradient_on_negatives(function, **options):
    """Shares of the gradient on each of 9 negatives that are arguments, for one anchor."""
    rows = jax.random.normal(jax.random.key(0), (11, 4))
    rows = rows / jnp.linalg.norm(rows, axis=1, keepdims=True)
    anchor, keys = rows[:1], rows[1:]

    def loss(keys):
        if function is losses.queue_contrastive:
            return function(anchor, keys[:1], keys[1:], temperature=0.3)[0]
        return function(anchor, keys, jnp.zeros(1, jnp.int32), temperature=0.3, **options)[0]

    lengths = np.linalg.norm(jax.grad(loss)(keys)[1:], axis=1)
    expected = hardness(anchor, keys, np.zeros(1, int), temperature=0.3)['gradient_ratio'][0, 1:]
    return lengths / lengths.sum(), expected


@pytest.mark.parametrize('name', ['contrastive', 'instance_discrimination', 'queue_contrastive'])
def test_the_gradient_of_a_softmax_is_that_which_the_panel_shows(name):
    found, expected = gradient_on_negatives(getattr(losses, name))
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_that_of_the_hardest_negatives_alone_is_not():
    found, expected = gradient_on_negatives(losses.hard_contrastive, num_hard=3)
    assert np.sum(found > 0) == 3
    assert np.abs(found - expected).max() > 0.03


def test_layers_that_another_program_rounded_otherwise_are_the_same():
    rows = np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32)
    rounded = rows * np.float32(1 + 3e-6)
    assert not np.array_equal(rows, rounded)
    assert panels.alike(rounded, rows)
    assert not panels.alike(np.where(rows > 0, 1, 0.01) * rows, rows)
    assert not panels.alike(rows[:, :2], rows)


def test_a_split_that_is_held_decoded_is_named_where_the_host_crops():
    def sentences(crops, **splits):
        of = {name: types.SimpleNamespace(source=source) for name, source in splits.items()}
        return list(panels.held_decoded(types.SimpleNamespace(crops_on_host=crops, **of)))

    encoded, decoded = object.__new__(EncodedSource), object()
    (sentence,) = sentences(True, train=encoded, test=decoded)
    assert sentence.startswith('But the test images are held decoded')
    assert sentences(True, train=encoded, test=encoded) == []
    assert sentences(False, train=decoded, test=decoded) == []


def test_what_lies_beyond_embeddings_is_of_the_test_split(monkeypatch):
    decoded = types.SimpleNamespace(source=object())
    experiment = types.SimpleNamespace(
        mesh=sharding.data_mesh(1), crops_on_host=True, train=decoded, test=decoded,
        image_shape=(2,),
    )  # fmt: skip
    state = types.SimpleNamespace(variables={}, step=3)
    given = []

    def embedded(experiment, variables, split, **options):
        rows = np.full((2, 3), float(split == 'test'))
        return {'embeddings': rows, 'projections': rows + 1, 'factor_label': rows[:, 0]}

    monkeypatch.setattr(panels, 'restored_run', lambda path, step: (experiment, state))
    monkeypatch.setattr(panels, 'embed_split', embedded)
    monkeypatch.setattr(panels, 'embed_views', lambda *given, **options: {})
    monkeypatch.setattr(panels.workdir, 'read_config', lambda path: {})
    monkeypatch.setattr(
        panels,
        'beyond_embeddings',
        lambda experiment, state, config, own, **options: given.append(own) or {},
    )
    material = panels.material_of_run('somewhere')
    assert given[0]['embeddings'].all()
    np.testing.assert_array_equal(material.test_factors['label'], [1, 1])
    np.testing.assert_array_equal(material.train_factors['label'], [0, 0])
    assert material.about[1].startswith('But the train and test images are held decoded')
