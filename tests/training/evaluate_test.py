"""What an evaluation reads, from how many passes, and that it is tried in a moment."""

import functools
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from ml_collections import ConfigDict

from contrastive_jax import sharding
from contrastive_jax.data import sources
from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation import collapse, embed, protocols, uniformity
from contrastive_jax.evaluation.knn import knn_accuracy
from contrastive_jax.randomness import Role, key_for, keys_for_examples
from contrastive_jax.training import metrics_log, workdir
from contrastive_jax.training.bind_evaluation import Reading, check_asked
from contrastive_jax.training.build import build
from contrastive_jax.training.embedding import embed_split, initial_variables
from contrastive_jax.training.evaluate import Evaluator, evaluate_workdir
from contrastive_jax.training.loop import train


@pytest.fixture
def small(config):
    config.data = dict(probing='plain', source='noise:40,size=8,channels=1', data_dir='')
    config.model = dict(name='mlp', widths=(6,), head_widths=(4,))
    config.data.probing, config.data.num_bits = 'randbit', 1
    config.evaluation = ConfigDict(dict(name='sgd_probe', factor='code', passes=3))
    return config


def read(experiment, evaluation=None):
    """What a protocol is given of the first state, and the variables of that."""
    variables = jax.jit(experiment.init_state)(experiment.seed_key).variables
    given = []

    def bind(options):
        del options
        return lambda *sets: given.extend(sets) or {}

    with jax.set_mesh(experiment.mesh):
        Evaluator(experiment)(variables, (evaluation or experiment.evaluate)._replace(bind=bind))
    return given, variables


@pytest.mark.slow
def test_passes_are_views_of_the_training_images_drawn_as_in_training(small):
    experiment = build(small, sharding.data_mesh(2))
    (train_rows, train_codes, test_rows, _), variables = read(experiment)
    assert train_rows.shape == (3, 40, 6)
    assert test_rows.shape[1:] == (6,)
    key = key_for(experiment.seed_key, Role.TRAIN_EXAMPLES)
    keys = keys_for_examples(key, np.arange(40))
    images = np.float32(experiment.train.source.take(np.arange(40))['image']) / np.float32(255)
    codes = np.broadcast_to(train_codes[:, None, None, None], (40, 8, 8, 1)).astype(np.float32)

    def view_of(key, image, number):
        return experiment.view(jax.random.fold_in(jax.random.fold_in(key, 8), number), image)

    views_of = jax.jit(jax.vmap(view_of, in_axes=(0, 0, None)))
    for number, rows in enumerate(train_rows):
        seen = np.concatenate([views_of(keys, images, number), codes], axis=-1)
        expected = experiment.model.apply(variables, seen, train=False)[0]
        np.testing.assert_allclose(rows, expected, atol=1e-5)
    # Of so small an image two crops may be the same.
    assert np.any(train_rows[0] != train_rows[1], axis=1).mean() > 0.5


def test_passes_without_a_view_are_the_images_at_rest(small):
    small.views = dict(name='none')
    experiment = build(small, sharding.data_mesh(1))
    (passes, *factors), _ = read(experiment)
    (rest, *others), _ = read(experiment, experiment.evaluate._replace(passes=0))
    assert rest.shape == (40, 6)
    for rows in passes:
        np.testing.assert_allclose(rows, rest, atol=1e-6)
    for one, other in zip(factors, others, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ('evaluation', 'sentence'),
    [
        (dict(name='knn', passes=2), 'passes is 2, but knn takes one pass.*several: sgd_probe'),
        (dict(name='sgd_probe', passes=-1), 'config.evaluation.passes is -1; it must be a whole'),
        (dict(name='sgd_probe', recipe='wu'), "recipe is 'wu', not one of"),
        (dict(name='identifiability'), "'identifiability', which reads real-valued latents; this"),
        (dict(k=3), 'config.evaluation.name is missing; it is one of'),
        (dict(name='linear_probe', groups=3), 'groups is not an option of linear_probe'),
    ],
)
def test_an_evaluation_that_cannot_be_is_refused(small, evaluation, sentence):
    small.evaluation = ConfigDict({'factor': 'code', **evaluation})
    with pytest.raises(BadInput, match=sentence):
        build(small)


@pytest.fixture
def readings(config):
    """A run of no steps on two digits; it reads one digit, its place, and the second of two."""
    config.num_steps = 0
    config.data = dict(probing='multidigits', source='digits', data_dir='')
    config.data.update(num_digits=2, sizes=(8, 14), canvas=16)
    config.model = dict(name='mlp', widths=(6,), head_widths=(4,))
    alone = dict(num_digits=1, sizes=(14,))
    also = dict(place=dict(factor='top_1', data=alone), second=dict(factor='label_2'))
    config.evaluation = ConfigDict(dict(name='knn', k=5, data=alone, also=also))
    return config


def test_each_reading_is_of_its_own_factor_and_data(readings, tmp_path, capsys):
    final = train(readings, tmp_path)
    assert final['step'] == 0
    assert train(readings, tmp_path) == final
    own = build(readings)
    readings.data.update(readings.evaluation.data)
    readings.evaluation = ConfigDict(dict(name='knn'))
    alone = build(readings)
    variables = initial_variables(own)
    for experiment, factors in (
        (own, {'_second': 'label_2'}),
        (alone, {'': 'label', '_place': 'top_1'}),
    ):
        train_rows, test_rows = (embed_split(experiment, variables, of) for of in sources.SPLITS)
        for name, factor in factors.items():
            sets = [
                rows[of]
                for rows in (train_rows, test_rows)
                for of in ('embeddings', f'factor_{factor}')
            ]
            accuracy = final[f'test_accuracy{name}']
            assert accuracy == pytest.approx(knn_accuracy(*sets, k=5))
            assert final[f'test_accuracy{name}_low'] < accuracy < final[f'test_accuracy{name}_high']
    assert len({final[f'test_accuracy{name}'] for name in ('', '_place', '_second')}) == 3
    assert f'second {final["test_accuracy_second"]:.3f}' in capsys.readouterr().out


def test_a_factor_that_is_asked_for_is_read_alone(readings):
    experiment = build(readings)
    (data,) = experiment.others
    assert experiment.evaluate.by_data('label') == {data: {'': Reading('label', data)}}
    assert set(experiment.evaluate.by_data()) == {data, ''}
    check_asked(experiment, 'left_1')
    with pytest.raises(BadInput, match=r'factors of this data set \(num_digits=1, sizes=\(14,\)\)'):
        check_asked(experiment, 'label_2')


@pytest.mark.parametrize(
    ('also', 'sentence'),
    [
        (3, 'config.evaluation.also is 3, not sections by name'),
        (dict(low={}), 'also.low has a name that ends.*not end in'),
        (dict(one=3), r"also.one is 3, not like dict\(factor='label'\)"),
        (dict(one=dict(facto='label')), "also.one.facto is not a field.*Did you mean 'factor'"),
        (dict(one=dict(factor='label_3')), "also.one.factor is 'label_3'; the factors of this"),
        (dict(one=dict(data=dict(sizes=(20,)))), 'also.one.data cannot be used: config.data.sizes'),
        (dict(one=dict(data=dict(num=1))), 'also.one.data cannot be used: .*num'),
        (dict(one=dict(data=dict(shuffle=False))), 'also.one.data.shuffle is of training alone'),
        (dict(one=dict(data=dict(canvas=20))), r'reads data \(canvas=20\) whose .* \(20, 20, 1\)'),
    ],
)
def test_a_reading_that_cannot_be_is_refused(readings, also, sentence):
    del readings.evaluation['also']
    readings.evaluation.also = ConfigDict(also) if isinstance(also, dict) else also
    with pytest.raises(BadInput, match=sentence):
        build(readings)


def test_a_reading_of_as_many_channels_of_another_kind_is_refused(small):
    small.data.num_bits = 3
    colours = dict(source='noise:40,size=8,channels=3', num_bits=1)
    small.evaluation = ConfigDict(dict(name='knn', factor='code', data=colours))
    with pytest.raises(
        BadInput, match='append channels to an image: 1; those of config.data append 3'
    ):
        build(small)


def test_latents_are_those_of_the_data_alone(latents):
    latents.evaluation.data = dict(dimensions=3)
    with pytest.raises(BadInput, match='config.evaluation.data is given, but identifiability'):
        build(latents)


def test_an_evaluation_is_tried_on_a_few_rows_in_a_few_epochs(small, monkeypatch):
    tried = []

    def probe(*sets, recipe='wu2020', epochs=None, batch_size=None, learning_rate=None):
        tried.append(([len(rows) for rows in sets], recipe, epochs))

    monkeypatch.setattr(protocols, 'sgd_probe', probe)
    small.data.source = 'noise:5000,size=8,channels=1'
    small.evaluation = ConfigDict(dict(name='sgd_probe', factor='code', recipe='simclr_imagenet'))
    build(small)
    assert tried == [([64, 64, 64, 64], 'simclr_imagenet', 2)]


@pytest.fixture
def latents(config):
    config.num_steps, config.batch_size, config.evaluate_every = 2, 16, 1
    config.data = dict(probing='content_style', source='synthetic:200', data_dir='', dimensions=4)
    config.data.update(content_dimensions=1, mixing_layers=1)
    config.views, config.loss = dict(name='none'), dict(name='box_info_nce', temperature=1.0)
    config.model = dict(name='mlp', widths=(4,), head_widths=())
    config.evaluation = ConfigDict(dict(name='identifiability'))
    return config


def test_a_run_on_latents_ends_in_what_is_identified_of_them(latents, tmp_path, capsys):
    final = train(latents, tmp_path)
    # One linear map of one linear map, both invertible: all of every latent is read.
    for name in ('mean_adjusted_r2', 'content_r2', 'style_r2', 'latent_3_adjusted_r2'):
        assert final[name] == pytest.approx(1, abs=1e-6)
    assert 'identifiability of latents: mean adjusted r2 1.000 [1.000, 1.000]' in (
        capsys.readouterr().out
    )
    assert [row['step'] for row in metrics_log.read(tmp_path) if 'mean_r2' in row] == [1, 2]
    assert workdir.final_row(tmp_path) == final
    assert train(latents, tmp_path) == final
    held_out = evaluate_workdir(tmp_path, protocol={'name': 'identifiability', 'held_out': True})
    assert held_out['mean_adjusted_r2'] == pytest.approx(1, abs=1e-6)
    with pytest.raises(BadInput, match="factor is 'label', but identifiability reads the latents"):
        evaluate_workdir(tmp_path, factor='label')
    with pytest.raises(BadInput, match='real numbers, which identifiability reads'):
        evaluate_workdir(tmp_path, protocol={'name': 'knn'})


def test_latents_need_rows_for_all_features_and_no_factor(latents):
    latents.model.widths = (200,)
    with pytest.raises(BadInput, match='fits 200 features on 200 rows; it needs 202'):
        build(latents)
    latents.evaluation.factor = 'label'
    with pytest.raises(BadInput, match="evaluation.factor is 'label', but identifiability reads"):
        build(latents)


def test_the_indicators_of_collapse_that_are_logged_are_those_of_their_functions():
    h, z = (np.random.default_rng(seed).normal(size=(200, 30)) for seed in (0, 1))
    z *= np.arange(1, 31) ** -1.5
    said = []
    found = Evaluator.collapse(SimpleNamespace(warn=said.append), dict(embeddings=h, projections=z))
    for name, rows in (('h', h), ('z', z)):
        assert found[f'{name}_alpha_req'] == collapse.alpha_req(rows)
        assert found[f'{name}_rankme'] == collapse.rankme(rows)
        assert found[f'{name}_effective_rank'] == collapse.effective_rank(rows)
        assert found[f'{name}_uniformity'] == uniformity(rows)
    assert found['z_alpha_req'] > 2
    assert said == []


def test_an_embedding_that_takes_long_shows_how_far_it_is(capsys, monkeypatch):
    monkeypatch.setattr(embed, 'tqdm', functools.partial(embed.tqdm, mininterval=0))
    source = sources.open_source('noise:40,size=8,channels=1', 'train', '')
    mesh = sharding.data_mesh(2)
    for patience, shown in ((0, True), (60, False)):
        monkeypatch.setattr(embed, 'PATIENCE_SECONDS', patience)
        found = embed.embed(rows_are_images, {}, source, None, mesh, batch_size=8)
        assert len(found['rows']) == 40
        assert ('40/40' in capsys.readouterr().err) == shown


def rows_are_images(variables, batch, key):
    del variables, key
    return {'rows': batch['image']}
