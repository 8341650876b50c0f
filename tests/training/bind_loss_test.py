"""What a loss does not read is refused, in a sentence that names the field."""

import jax
import pytest
from ml_collections import ConfigDict

from contrastive_jax import losses
from contrastive_jax.errors import BadInput
from contrastive_jax.training import bind_loss, shapes
from contrastive_jax.training.build import build

BALL = dict(name='ball', temperature=0.2)
CMC = dict(name='contrastive_multiview_coding', temperature=0.2)
QUEUE = dict(name='queue_contrastive', temperature=0.2)
BYOL = dict(name='byol_regression')


@pytest.mark.parametrize(
    ('sections', 'sentence'),
    [
        (dict(memory=dict(momentum=0.5)), "config.memory is given, but the loss 'nt_xent'"),
        (dict(loss=BALL, target=dict(momentum=0.5)), "config.target is given, .* 'ball'"),
        (dict(loss=QUEUE, memory=dict(momentum=0.5)), 'config.memory.momentum is not an option'),
        (dict(loss=QUEUE, memory=dict(size=0)), 'config.memory.size is 0; .* at least 1'),
        (dict(loss=QUEUE, target=dict(predictor_width=4)), 'target.predictor_width is not an'),
        (dict(loss=BYOL, target=dict(momentum=1.5)), 'config.target.momentum is 1.5; it must be'),
        (dict(loss=BYOL, target=dict(schedule='linear')), 'schedule is .linear., not one of: con'),
        (dict(loss=BALL, memory=dict(momentum=1.0)), 'momentum is 1, with which the bank'),
        (dict(loss=BALL, memory=dict(close=dict(count=3))), 'config.memory.close is not an option'),
        (
            dict(loss=BALL, memory=dict(background=dict(count=4001))),
            'memory.background.count is 4001; .* at most 4000',
        ),
        (dict(loss=BALL, memory=dict(backgound=dict(count=4))), "Did you mean 'background'"),
        (dict(loss=BALL, memory=dict(background=dict(name='rings'))), "Did you mean 'ring'"),
        (dict(loss=BALL, memory=dict(background=dict(inner=0.1))), 'background.inner is not an'),
        (dict(loss=CMC), "config.views.beside is missing: .*name='luminance'"),
        (dict(loss=dict(name='supcon', temperature=1, factor='x')), "config.loss.factor is 'x'; t"),
        (dict(loss=dict(name='nt_xent', temperature=1, factor='x')), 'config.loss.factor is not a'),
        (dict(loss=dict(name='multi_label')), 'multi_label., which takes the factors present_'),
        (dict(loss=dict(name='nt_xent', temperature=dict(inital=1))), "Did you mean 'initial'"),
        (dict(loss=dict(name='nt_xent', temperature=dict(initial=-1))), 'one temperature in'),
        (dict(loss=dict(name='ball', temperature=1, background=[])), 'loss.background is not an'),
        (dict(views=dict(name='flip', beside='flipp')), "views.beside is 'flipp'.*Did you mean"),
    ],
)
def test_what_has_no_effect_or_cannot_be_is_refused(config, sections, sentence):
    config.data = dict(probing='plain', source='digits', data_dir='')
    for section, value in sections.items():
        config[section] = ConfigDict(value)
    with pytest.raises(BadInput, match=sentence):
        build(config)


def test_a_loss_of_one_view_has_no_pairs(config):
    config.data = dict(probing='plain', source='digits', data_dir='', pairing=('label',))
    config.loss = ConfigDict(dict(name='cross_entropy'))
    with pytest.raises(BadInput, match=r'data.pairing is .*sees one view of each example'):
        build(config)


@pytest.mark.parametrize(
    ('loss', 'what'),
    [
        (BYOL, 'predictor and momentum encoder'),
        (QUEUE, 'momentum encoder'),
        (dict(name='cross_entropy'), 'classifier'),
        (dict(name='nt_xent', temperature=dict(initial=0.5)), 'temperature'),
    ],
)
def test_micro_batches_are_of_an_encoder_alone(config, loss, what):
    config.data = dict(probing='plain', source='digits', data_dir='')
    config.model = dict(name='mlp', widths=(8,), head_widths=(4,))
    config.optimizer.accumulate = 2
    config.loss = ConfigDict(loss)
    with pytest.raises(BadInput, match=f'accumulate is 2, but the loss .* has a {what} beside'):
        build(config)
    for fits in (dict(name='contrastive', temperature=0.2), dict(name='supcon', temperature=0.2)):
        config.loss = ConfigDict(fits)
        build(config)  # traces the step


def test_a_function_of_a_user_gets_the_arrays_that_it_names(config):
    def my_loss(anchors, bank, index, scale=2.0):
        assert anchors.shape == (16, 4)
        assert bank.shape == (4000, 4)
        return scale * (anchors * bank[index]).sum()

    config.data = dict(probing='plain', source='digits', data_dir='')
    config.loss = ConfigDict(dict(name=my_loss, scale=3.0))
    experiment = build(config)
    state = jax.eval_shape(experiment.init_state, experiment.seed_key)
    assert state.memory['bank'].shape == (4000, 4)
    rows = shapes.batch_shapes(experiment.train, config.batch_size)
    after, _ = jax.eval_shape(experiment.train_step, state, rows, {}, experiment.seed_key)
    assert jax.tree.structure(after) == jax.tree.structure(state)


def test_the_longest_signature_is_taken():
    assert bind_loss.arrays_of(losses.ball) == ('anchors', 'bank', 'index')
    assert bind_loss.arrays_of(losses.box_info_nce) == ('anchors', 'positives')
    assert bind_loss.arrays_of(losses.nwj) is None
