"""Every config builds, every name in it is bound, every point of its sweep applies."""

import importlib
from pathlib import Path

import jax
import numpy as np
import pytest

from configs.chen2021 import BEFORE_TRAINING, five_losses, randbit_vae_laptop
from contrastive_jax import losses
from contrastive_jax.data import sources
from contrastive_jax.errors import BadInput
from contrastive_jax.training import loop, sweeps
from contrastive_jax.training.build import build
from contrastive_jax.training.restore import restored_run
from launch import stand_in

ROOT = Path(__file__).parent.parent
CONFIGS = sorted(
    path.relative_to(ROOT)
    for path in (ROOT / 'configs').glob('*/*.py')
    if path.name != '__init__.py'
)


def module_of(path):
    return importlib.import_module('.'.join(path.with_suffix('').parts))


@pytest.mark.parametrize('path', CONFIGS, ids=str)
@pytest.mark.parametrize('argument', ['', 'smoke'])
def test_config_builds(path, argument):
    # Of data that must be prepared only the shapes are needed; the smoke form needs none of it.
    open_source = sources.open_source if argument else stand_in.open_source
    experiment = build(module_of(path).get_config(argument), open_source=open_source)
    assert len(experiment.train.source) >= len(experiment.test.source) > 0


@pytest.mark.parametrize('path', CONFIGS, ids=str)
@pytest.mark.parametrize('argument', ['', 'smoke'])
def test_every_point_of_the_sweep_applies(path, argument):
    module = module_of(path)
    config = module.get_config(argument)
    points = module.sweep()
    assert points
    for point in points:
        at_point = sweeps.config_at(config, point)
        absent = [name.split('.')[0] for name in point if at_point.get(name.split('.')[0]) is None]
        assert all(point[name] == '' for name in absent)
    assert len({str(point) for point in points}) == len(points)
    assert len({tuple(sorted(point)) for point in points}) == 1  # a table has one header


@pytest.mark.parametrize('path', CONFIGS, ids=str)
def test_the_docstring_gives_command_expectation_and_time(path):
    text = module_of(path).__doc__
    for word in ('python -m experiments.', 'Expected', 'Time'):
        assert word in text


@pytest.mark.parametrize('path', CONFIGS, ids=str)
def test_an_unknown_argument_names_the_choices(path):
    with pytest.raises(ValueError, match='smoke'):
        module_of(path).get_config('no_such_argument')


@pytest.mark.slow
@pytest.mark.parametrize('point', [{}, randbit_vae_laptop.METHODS['autoencoder before training']])
def test_before_training_the_weights_are_as_drawn_and_the_statistics_those_of_images(
    tmp_path, point
):
    config = sweeps.config_at(randbit_vae_laptop.get_config('smoke'), {**BEFORE_TRAINING, **point})
    loop.train(config, tmp_path, quiet=True)
    experiment, after = restored_run(tmp_path)
    drawn = experiment.init_state(experiment.seed_key)
    jax.tree.map(
        lambda old, new: np.testing.assert_allclose(new, old, atol=1e-6), drawn.params, after.params
    )
    for old, new in zip(
        jax.tree.leaves(drawn.batch_stats), jax.tree.leaves(after.batch_stats), strict=True
    ):
        assert np.mean(np.abs(new - old)) > 0.01


def test_nt_xent_among_the_five_losses_has_the_gradient_of_nt_xent(key):
    z1, z2 = jax.random.normal(key, (2, 6, 5))
    options = five_losses(dimensions=5)['nt_xent']
    form = getattr(losses, options.pop('name'))
    gradient = jax.grad(lambda z1: form(z1, z2, **options)[0])(z1)
    expected = jax.grad(lambda z1: losses.nt_xent(z1, z2, temperature=0.2)[0])(z1)
    np.testing.assert_allclose(gradient, expected, atol=1e-5 * np.abs(expected).max())


CONFIG = 'configs/chen2021/randbit_digits.py'


@pytest.mark.parametrize(
    ('field', 'value', 'sentence'),
    [
        ('loss.name', 'nt_xnt', "config.loss.name is 'nt_xnt'.*Did you mean 'nt_xent'"),
        ('loss.name', 'nwj', r'a function of \(scores\), which no run has.*nt_xent'),
        ('loss.name', 'no_module:loss', "'no_module' cannot be imported"),
        ('model.name', 'resnest', "config.model.name is 'resnest', not one of"),
        ('views.name', 'crop', "config.views.name is 'crop', not one of"),
        ('data.probing', 'bits', "config.data.probing is 'bits', not one of"),
        ('data.source', 'mnist', "config.data.source is 'mnist', not one of"),
        ('optimizer.name', 'sdg', "config.optimizer.name is 'sdg', not one of"),
        ('optimizer.schedule', 'stairs', "config.optimizer.schedule is 'stairs', not one of"),
        ('optimizer.learning_rate', 0.0, 'config.optimizer.learning_rate is 0.0'),
        ('evaluation.name', 'probe', "config.evaluation.name is 'probe', not one of"),
        ('loss.temperature', -0.1, 'temperature'),
        ('views.method', 'nearest', 'method'),
        ('data.num_bits', 31, 'config.data.num_bits is 31'),
        ('batch_size', 6, 'config.batch_size is 6, which 4 devices do not divide'),
        ('batch_size', 8000, 'config.batch_size is 8000'),
        ('seed', 2**32, r'config.seed is 4294967296; it must be below'),
        ('num_steps', -1, 'config.num_steps is -1'),
    ],
)
def test_bad_values_are_one_sentence_before_anything_compiles(field, value, sentence):
    module = module_of(Path(CONFIG))
    config = sweeps.config_at(module.get_config('smoke'), {field: value})
    with pytest.raises(BadInput, match=sentence):
        build(config)


def test_an_unknown_option_of_a_loss_names_the_options():
    config = module_of(Path(CONFIG)).get_config('smoke')
    config.loss = {'name': 'nt_xent', 'temprature': 0.1}
    with pytest.raises(BadInput, match=r"config.loss.temprature.*Did you mean 'temperature'"):
        build(config)


@pytest.mark.parametrize(
    ('evaluation', 'sentence'),
    [
        ({'name': 'knn', 'k': 5000}, 'k is 5000, outside 1..4000'),
        ({'name': 'knn', 'k': 'a'}, 'config.evaluation cannot be used'),
        ({'name': 'linear_probe', 'regularization': -1.0}, 'regularization is -1.0'),
    ],
)
def test_options_of_the_evaluation_are_checked_before_training(evaluation, sentence):
    config = module_of(Path(CONFIG)).get_config('smoke')
    config.evaluation = evaluation
    with pytest.raises(BadInput, match=sentence):
        build(config)


def reserved_part(z1, z2):
    return (z1 * z2).sum(), {'step': z1.sum()}


def vector_part(z1, z2):
    return (z1 * z2).sum(), {'vector': z1.sum(axis=0)}


def broken(z1, z2):
    return z1.no_such_attribute


@pytest.mark.parametrize(
    ('name', 'sentence'),
    [('reserved_part', "part 'step'"), ('vector_part', r"'vector' of shape \(4,\)"),
     ('broken', 'does not make a train step: AttributeError')],
)  # fmt: skip
def test_a_user_loss_that_cannot_be_trained_on_is_told_before_training(monkeypatch, name, sentence):
    import sys
    import types

    module = types.ModuleType('losses_of_a_user')
    setattr(module, name, globals()[name])
    monkeypatch.setitem(sys.modules, 'losses_of_a_user', module)
    config = module_of(Path(CONFIG)).get_config('smoke')
    config.loss = {'name': f'losses_of_a_user:{name}'}
    with pytest.raises(BadInput, match=sentence):
        build(config)


def test_an_unknown_or_missing_section_is_named():
    config = module_of(Path(CONFIG)).get_config('smoke')
    config.optimiser = config.optimizer
    with pytest.raises(BadInput, match=r"config.optimiser .*Did you mean 'optimizer'"):
        build(config)
    del config.optimiser
    del config.loss
    with pytest.raises(BadInput, match='config.loss is missing'):
        build(config)
