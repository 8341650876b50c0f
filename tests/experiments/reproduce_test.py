"""The reproduce command: runs what is missing, judges, writes; on a tiny paper of its own."""

import json
import shutil
import sys
import types

import pytest

from configs.chen2021 import randbit_digits
from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.claims import Claim, value
from contrastive_jax.training import loop
from experiments import paper_page, published, reproduction

ITEMS = """item,full_config,laptop_config,claims,without_runs
Fig. 1,configs/tiny/pod.py,configs/tiny/bits.py,1a,
Fig. 2,,configs/tiny/more.py,2a,
Fig. 3,,,,not reproduced: needs a pod
"""


def claim(name, of_seed, config):
    return Claim(
        id=name, claim=f'Claim {name}.', source='Fig. 1', config=config, statistic='accuracy',
        of_seed=of_seed, threshold=0.0, direction='above', paper_value=0.5,
        scale_needed='needs a pod',
    )  # fmt: skip


@pytest.fixture
def config():
    return randbit_digits.get_config('smoke')


@pytest.fixture
def paper(tmp_path, config, monkeypatch):
    """A paper of two experiments, one of which asks for data that is not there."""
    missing = config.copy_and_resolve_references()
    missing.data.source = 'tfds:no_such_set'
    points = [{'data.num_bits': 2, 'seed': seed} for seed in (0, 1, 2)]
    read = lambda rows: value(rows, 'test_accuracy', {'data.num_bits': 2})  # noqa: E731
    modules = {
        'configs.tiny': {},
        'configs.tiny.bits': {'get_config': config.copy_and_resolve_references},
        'configs.tiny.pod': {'get_config': config.copy_and_resolve_references},
        'configs.tiny.more': {'get_config': lambda: missing},
        'experiments.tiny': {},
        'experiments.tiny.claims': {
            'CLAIMS': [
                claim('1a', read, 'configs/tiny/bits.py')._replace(
                    full_config='configs/tiny/pod.py'
                ),
                claim('1b', lambda rows: value(rows, 'none', {}), 'configs/tiny/bits.py'),
                claim('2a', read, 'configs/tiny/more.py'),
            ]
        },
        'experiments.tiny.figures': {'DRAWINGS': {}},
    }
    for name, members in modules.items():
        module = types.ModuleType(name)
        vars(module).update(members, sweep=lambda: points)
        monkeypatch.setitem(sys.modules, name, module)
    page = tmp_path / 'experiments' / 'tiny' / 'README.md'
    page.parent.mkdir(parents=True)
    page.write_text(f'Before.\n{paper_page.BEGIN}\nwhat stood here\n{paper_page.END}\nAfter.\n')
    (page.parent / 'items.csv').write_text(ITEMS)
    monkeypatch.setattr(reproduction, 'ROOT', tmp_path)

    def command(paper='tiny', **options):
        return reproduction.reproduce(paper, tmp_path / 'runs', **options)

    return command, tmp_path


@pytest.mark.slow
def test_runs_what_is_missing_and_judges_what_is_there(paper, capsys, monkeypatch):
    command, root = paper
    assert command(judge=True) == []
    assert 'not run: python -m experiments.reproduce --paper=tiny --only=bits' in (
        capsys.readouterr().out
    )
    assert not (root / 'runs').exists()

    assert command() == ['more']  # the data of the second experiment are not there
    said = capsys.readouterr().out
    assert 'more was not run' in said
    assert "1b  cannot be judged: the row with {} has no 'none'" in said
    records = json.loads((root / 'results/tiny/claims.json').read_text())
    assert [record['id'] for record in records] == ['1a']
    assert set(records[0]) >= {
        'id', 'claim', 'source', 'statistic', 'threshold', 'direction', 'estimate', 'low', 'high',
        'seeds', 'verdict', 'ours', 'command', 'scale', 'config', 'commit', 'machine',
        'paper_value',
    }  # fmt: skip
    assert records[0]['seeds'] == [0, 1, 2]
    rows = published.read_rows(root / 'results/tiny/bits')
    assert records[0]['estimate'] == pytest.approx(sum(row['test_accuracy'] for row in rows) / 3)
    assert (root / 'results/tiny/bits/figure.png').stat().st_size > 5000
    page = (root / 'experiments/tiny/README.md').read_text()
    assert page.startswith('Before.\n<!-- begin')
    assert page.endswith('<!-- end -->\nAfter.\n')
    assert 'what stood here' not in page
    assert '| Fig. 1 | `pod`, not run | `bits` | 1a | run on digits |' in page
    assert '| Fig. 2 |  | `more` | 2a | not run |' in page
    assert '| Fig. 3 |  |  |  | not reproduced: needs a pod |' in page

    # What is made for a pod runs where it is named.
    assert command(only=['pod']) == []
    larger = (root / 'experiments/tiny/README.md').read_text()
    assert '| Fig. 1 | `pod` | `bits` | 1a | run on digits |' in larger
    assert '## Fig. 1 (`pod`)' in larger
    assert '| 1a at full scale | Claim 1a. (Fig. 1) |' in larger
    assert 'Of 3 claims of the paper, 1 are judged' in larger  # once, whatever the scales
    shutil.rmtree(root / 'results/tiny/pod')

    # Finished runs of other machines are read, and keep their machine.
    last = sorted((root / 'runs/tiny/pod').glob('*/config.json'))[-1]
    record = json.loads(last.read_text())
    last.write_text(json.dumps({**record, 'machine': '16 x TPU v5e'}))
    assert command(only=['pod']) == []
    both = ' and '.join(sorted(['16 x TPU v5e', record['machine']]))
    assert published.read_record(root / 'results/tiny/pod')['machine'] == both
    shutil.rmtree(root / 'results/tiny/pod')

    # Again: nothing is trained, and the page is the same.
    monkeypatch.setattr(loop, 'train', None)
    assert command(only=['bits']) == []
    assert (root / 'experiments/tiny/README.md').read_text() == page


def test_the_summary_counts_each_verdict_of_the_paper_and_of_our_own_checks():
    records = [
        {'id': name, 'verdict': verdict, 'ours': False}
        for name, verdict in (
            ('2a', 'inconclusive'),
            ('2a', 'holds'),  # at full scale
            ('2b', 'does_not_hold'),
            ('2c', 'holds'),
        )
    ]
    of_paper = (
        'Of 4 claims of the paper, 3 are judged: hold 2, do not hold 1, inconclusive at this '
        'scale 0.'
    )
    waiting = [(claim('1a', None, ''), 'not run')]
    assert paper_page.summary(records, waiting) == of_paper
    own = claim('1b', None, '')._replace(ours=True)
    checks = [{'id': '2d', 'verdict': 'inconclusive', 'ours': True}]
    assert paper_page.summary(records + checks, [*waiting, (own, 'not run')]) == (
        f'{of_paper} Of 2 checks of our own, 1 are judged: hold 0, do not hold 0, inconclusive at '
        'this scale 1.'
    )


def test_a_claim_is_judged_at_both_scales_that_were_run():
    made = {'command': 'run', 'scale': 'small', 'commits': ['abc'], 'machine': 'a laptop'}
    rows = [{'seed': seed, 'test_accuracy': 0.5 + seed / 100} for seed in range(3)]
    better = [{**row, 'test_accuracy': row['test_accuracy'] + 0.3} for row in rows]
    read = lambda rows: value(rows, 'test_accuracy', {})  # noqa: E731
    of_both = claim('1a', read, 'configs/tiny/bits.py')._replace(full_config='configs/tiny/pod.py')
    both = {'bits': (rows, made), 'pod': (better, {**made, 'scale': 'large'})}
    (small, large), waiting = reproduction.judged('tiny', [of_both], both)
    assert not waiting
    assert (small['config'], small['full_scale'], small['scale']) == (
        'configs/tiny/bits.py', False, 'small'
    )  # fmt: skip
    assert (large['config'], large['full_scale'], large['scale']) == (
        'configs/tiny/pod.py', True, 'large'
    )  # fmt: skip
    assert large['estimate'] == pytest.approx(small['estimate'] + 0.3)
    assert (small['scale_needed'], large['scale_needed']) == ('needs a pod', '')

    one_seed = {**both, 'pod': (better[:1], made)}
    (alone,), ((_, reason),) = reproduction.judged('tiny', [of_both], one_seed)
    assert alone == small
    assert reason == 'cannot be judged at full scale: claim 1a has 1 seeds; it needs 3.'
    never = of_both._replace(scale_needed='None: it is so at any scale.')
    (_, large_never), _ = reproduction.judged('tiny', [never], both)
    assert large_never['scale_needed'] == never.scale_needed
    (large_alone,), waiting = reproduction.judged('tiny', [of_both], {'pod': both['pod']})
    assert (large_alone, waiting) == (large, [])
    _, ((_, reason),) = reproduction.judged('tiny', [of_both], {})
    assert reason == 'not run: python -m experiments.reproduce --paper=tiny --only=bits'


def test_what_stands_for_another_config_is_not_current(tmp_path, config):
    points = [{'seed': 0, 'data.num_bits': 2}]
    record = {'config': None, **published.identity(config, points)}
    (tmp_path / 'record.json').write_text(json.dumps(record))
    assert not published.is_current(tmp_path, config, points)  # no rows yet
    (tmp_path / 'results.csv').write_text('seed\n0\n')
    assert published.is_current(tmp_path, config, points)
    config.data.data_dir = 'elsewhere'
    assert published.is_current(tmp_path, config, points)
    assert not published.is_current(tmp_path, config, [{'seed': 1, 'data.num_bits': 2}])
    config.num_steps += 1
    assert not published.is_current(tmp_path, config, points)


def test_the_scale_has_the_range_of_what_is_swept(config):
    points = [{'batch_size': size, 'num_steps': 2000} for size in (256, 32, 64)]
    assert published.scale_of(config, points) == (
        'digits, 2,000 steps of batch 32 to 256, model convnet, 3 runs'
    )


def test_rows_come_back_as_they_were(tmp_path):
    (tmp_path / 'results.csv').write_text('a,loss,memory,b\n1,"nt_xent,temperature=0.2",,0.5\n')
    assert published.read_rows(tmp_path) == [
        {'a': 1, 'loss': 'nt_xent,temperature=0.2', 'memory': '', 'b': 0.5}
    ]


@pytest.mark.parametrize(
    ('options', 'sentence'),
    [({'only': ['bit']}, "--only names 'bit', not one of: bits, more, pod"),
     ({'paper': 'big'}, "--paper is 'big', not one of: tiny")],
)  # fmt: skip
def test_bad_input_names_the_choices(paper, options, sentence):
    with pytest.raises(BadInput, match=sentence):
        paper[0](**options)
