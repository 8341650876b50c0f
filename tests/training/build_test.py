"""A loss reaches training by its name, by an import path, or as the function itself."""

import jax
import numpy as np
import pytest
from ml_collections import ConfigDict

from contrastive_jax import losses
from contrastive_jax.errors import BadInput
from contrastive_jax.training import build, shapes


def views():
    random = np.random.default_rng(0)
    return [random.normal(size=(4, 3)).astype(np.float32) for _ in range(2)]


def test_name_path_and_function_are_one_loss(key):
    for name in ('nt_xent', 'contrastive_jax.losses:nt_xent', losses.nt_xent):
        loss, parts = build.bind_loss({'name': name, 'temperature': 0.5})(*views(), key)
        expected, others = losses.nt_xent(*views(), temperature=0.5)
        assert float(loss) == float(expected)
        assert parts.keys() == others.keys()


def test_a_function_of_a_user_may_name_its_parameters_and_return_the_scalar_alone(key):
    def squares(left, right, tau=1.0):
        return ((left - right) ** 2).sum() / np.float32(tau)

    loss, parts = build.bind_loss({'name': squares, 'tau': 0.5})(*views(), key)
    left, right = views()
    assert float(loss) == pytest.approx(2 * np.sum((left - right) ** 2), rel=1e-6)
    assert parts == {}


def test_a_function_of_a_user_gets_the_key_it_asks_for(key):
    def noisy(z1, z2, *, key):
        return jax.random.normal(key)

    loss, _ = build.bind_loss({'name': noisy})(*views(), key)
    assert float(loss) == float(jax.random.normal(key))


def test_a_lambda_is_built_into_a_train_step(config):
    config.loss = {'name': lambda z1, z2: ((z1 - z2) ** 2).mean()}
    experiment = build.build(config)
    state = jax.eval_shape(experiment.init_state, experiment.seed_key)
    rows = shapes.batch_shapes(experiment.train, config.batch_size)
    _, metrics = jax.eval_shape(experiment.train_step, state, rows, {}, experiment.seed_key)
    assert 'loss' in metrics


IMAGES = dict(source='digits', data_dir='')


@pytest.mark.parametrize(
    ('data', 'factor', 'shape'),
    [
        (dict(probing='multidigits', num_digits=4, **IMAGES), 'label_3', (112, 112, 1)),
        (dict(probing='cdp', pairing=('colour', 'digit'), **IMAGES), 'position', (64, 64, 3)),
        (
            dict(probing='digit_on_image', digits='digits', num_unique=16, **IMAGES),
            'digit',
            (112, 112, 1),
        ),
        (
            dict(probing='k_bit_images', num_bits=4, source='synthetic:500', data_dir=''),
            'code',
            (32, 32, 5),
        ),
    ],
)
def test_every_data_set_of_images_is_built_from_a_config(config, data, factor, shape):
    config.data = ConfigDict(data)
    config.evaluation.factor = factor
    experiment = build.build(config)  # traces the whole train step
    assert experiment.image_shape == shape
    assert experiment.factor == factor
    config.evaluation.factor = 'wing'
    with pytest.raises(BadInput, match="evaluation.factor is 'wing'; the factors of this data set"):
        build.build(config)


def test_a_second_source_that_is_not_there_is_named(config):
    config.data = ConfigDict(dict(probing='digit_on_image', digits='didgits', **IMAGES))
    with pytest.raises(BadInput, match="'didgits', not one of.*Did you mean 'digits'"):
        build.build(config)


@pytest.mark.parametrize(
    ('section', 'sentence'),
    [
        ({'name': losses.nwj}, r"'nwj', a function of \(scores\), which no run has; it is one of"),
        ({'name': 'contrastive_jax.losses:info_nce_bound'}, r'a function of \(loss, k\)'),
        ({'name': losses.nt_xent, 'temprature': 0.1}, "Did you mean 'temperature'"),
        ({'name': losses.nt_xent}, 'config.loss.temperature is missing'),
        ({'name': lambda a, b, tau: a, 'tua': 1}, "Did you mean 'tau'"),
        ({'name': getattr}, 'config.loss.name is <built-in function getattr>'),
        ({'name': 3}, 'config.loss.name is 3, not one of'),
    ],
)
def test_a_function_is_checked_as_a_name_is(section, sentence):
    with pytest.raises(BadInput, match=sentence):
        build.bind_loss(section)


def test_the_digits_of_the_test_split_are_all_there_are():
    data = dict(probing='digit_on_image', digits='digits', num_unique=4, **IMAGES)
    make = build.bind_probing(ConfigDict(data))
    assert [make(split).factors['digit_index'] for split in ('train', 'test')] == [4, 1000]
    with pytest.raises(BadInput, match='config.data.split is not an option'):
        build.bind_probing(ConfigDict({**data, 'split': 'test'}))


@pytest.mark.parametrize(
    ('options', 'shape'),
    [
        (dict(name='crop_and_flip', size=20), (20, 20, 3)),
        (dict(name='luminance'), (24, 24, 1)),
        (dict(name='colour', size=18), (18, 18, 2)),
        (dict(name='centre_crop', size=16), (16, 16, 3)),
    ],
)
def test_the_model_sees_the_shape_of_the_view_in_training_and_evaluation(config, options, shape):
    config.data = ConfigDict(dict(probing='plain', source='photographs,size=24', data_dir=''))
    config.views = ConfigDict(options)
    experiment = build.build(config)  # traces training with the parameters of this shape
    assert experiment.image_shape == shape
    state = jax.eval_shape(experiment.init_state, experiment.seed_key)
    rows = shapes.batch_shapes(experiment.test, 4)
    embed = experiment.embed_steps['test']
    embedded = jax.eval_shape(embed, state.variables, rows, {}, experiment.seed_key)
    assert embedded['projections'].shape[0] == 4


def test_a_view_that_the_images_do_not_allow_is_one_sentence(config):
    config.views = ConfigDict(dict(name='luminance'))
    with pytest.raises(BadInput, match='make a train step: image has 1 channels; Lab takes 3'):
        build.build(config)


@pytest.mark.parametrize(
    ('data', 'sentence'),
    [
        (dict(probing='plain', source=3), 'data.source is 3, not the name of a source'),
        (dict(probing='plain', negatives=3), 'data.negatives is 3, not the name of a source'),
        (dict(probing='plain', negatives='nois:9'), "data.negatives is 'nois:9', not one of"),
        (dict(probing='cdp', backgrounds=True), 'data.backgrounds is True, not the name'),
        (dict(probing='randbit', num_bits='4'), "wrong type for 'randbit' among num_bits='4'"),
        (dict(probing='multidigits', num_digits='2'), "wrong type for 'multidigits'"),
        (dict(probing='spirals', noise='x', source='synthetic:50'), "noise='x'"),
        (
            dict(probing='spirals', noise=0.1, turns='x', source='synthetic:50'),
            'does not make a train step',
        ),
        (dict(probing='plain', pairing=3), 'data.pairing is 3, not factors such as'),
        (dict(probing='plain', pairing='lable'), "data.pairing is 'lable'; the factors"),
    ],
)
def test_a_value_of_another_type_is_one_sentence(config, data, sentence):
    config.data = ConfigDict({**IMAGES, **data})
    config.evaluation.factor = 'arm' if data['probing'] == 'spirals' else 'label'
    with pytest.raises(BadInput, match=sentence):
        build.build(config)


def test_one_factor_to_pair_by_may_be_a_string(config):
    config.data.pairing = 'label'
    assert build.build(config).pairing == ('label',)
