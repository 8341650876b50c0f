"""Every item of a paper has its configs and claims, or a reason; what results/ holds is true."""

import importlib
import json
import math
import re
from pathlib import Path

import pytest

from contrastive_jax.evaluation.claims import DIRECTIONS, judge
from experiments import paper_page, published

ROOT = Path(__file__).parents[2]
# What `claims.md` of the project's fact sheets asks for.
ITEMS = {
    'chen2021': [
        *(f'Fig. {number}' for number in range(1, 8)),
        *(f'Fig. {number}' for number in ('A.1', 'A.2', 'B.1', 'B.2', 'B.3')),
        *(f'Table {number}' for number in ('1', '2', '3', '4', 'A.1', 'A.2', 'A.3')),
        'Algorithm 1', 'Sec. 4', 'notebook', 'SwAV',
    ],
}  # fmt: skip
CLAIMS = {'chen2021': range(1, 12)}
PAPERS = sorted(path.parent.name for path in ROOT.glob('experiments/*/items.csv'))


def items_of(paper):
    return paper_page.read_items(ROOT / 'experiments' / paper / 'items.csv')


def claims_of(paper):
    return importlib.import_module(f'experiments.{paper}.claims').CLAIMS


@pytest.mark.parametrize('paper', PAPERS)
def test_every_item_has_configs_or_a_reason(paper):
    items = items_of(paper)
    for item in items:
        assert tuple(item) == paper_page.COLUMNS
        configs = [item['full_config'], item['laptop_config']]
        assert any(configs) or item['without_runs'], item['item']
        for config in filter(None, configs):
            assert config.startswith(f'configs/{paper}/')
            assert (ROOT / config).is_file(), f'{item["item"]}: {config} is missing'
    named = [item['item'] for item in items]
    assert len(set(named)) == len(named)
    for wanted in ITEMS[paper]:
        assert any(re.search(rf'\b{re.escape(wanted)}\b', name) for name in named), wanted


@pytest.mark.parametrize('paper', PAPERS)
def test_every_claim_is_of_an_item_and_of_its_config(paper):
    claims = {claim.id: claim for claim in claims_of(paper)}
    assert len(claims) == len(claims_of(paper))
    listed = [(name, item) for item in items_of(paper) for name in item['claims'].split()]
    assert {name for name, _ in listed} == set(claims)
    for name, item in listed:
        assert claims[name].config == item['laptop_config'], (name, item['item'])
    for name, claim in claims.items():
        of_claim = {item['full_config'] for listed_name, item in listed if listed_name == name}
        others = of_claim - {'', claim.config}  # no full form, or one that a laptop can run
        has_none = name in WITHOUT_FULL[paper] or not others
        assert claim.full_config in ({''} if has_none else others), name
    for claim in claims.values():
        assert claim.direction in DIRECTIONS
        assert (claim.direction == 'within') == isinstance(claim.threshold, tuple)
    assert {int(name.rstrip('abcdefghijklmnopqrstuvwxyz')) for name in claims} == set(CLAIMS[paper])


@pytest.mark.parametrize('paper', PAPERS)
def test_the_published_verdicts_follow_from_the_published_rows(paper):
    claims = {claim.id: claim for claim in claims_of(paper)}
    records = json.loads((ROOT / 'results' / paper / 'claims.json').read_text())
    page = (ROOT / 'experiments' / paper / 'README.md').read_text()
    for record in records:
        claim = claims[record['id']]
        assert record['config'] in (claim.config, claim.full_config)
        assert record['full_scale'] == (record['config'] == claim.full_config)
        directory = ROOT / 'results' / paper / Path(record['config']).stem
        found = judge(claim, published.read_rows(directory))
        assert (found['verdict'], found['seeds']) == (record['verdict'], record['seeds']), claim.id
        for name in ('source', 'ours', 'statistic', 'direction', 'paper_value'):
            assert record[name] == getattr(claim, name)
        threshold = record['threshold']
        assert claim.threshold == (tuple(threshold) if isinstance(threshold, list) else threshold)
        for name in ('estimate', 'low', 'high'):
            assert math.isclose(found[name], record[name], rel_tol=1e-9, abs_tol=1e-12)
        assert f'| {claim.id}{paper_page.at_scale(record)} | {claim.claim} ' in page
        assert paper_page.interval(record) in page
        if not record['full_scale']:
            assert record['scale_needed'] == claim.scale_needed
            assert record['verdict'] == 'holds' or claim.scale_needed, claim.id
        elif record['scale_needed']:
            assert record['scale_needed'] == claim.scale_needed
        made = published.read_record(directory)
        assert f'--only={directory.name}' in made['command']
    judged = [(record['id'], record['config']) for record in records]
    assert len(set(judged)) == len(judged)
    for claim in claims.values():
        for config in filter(None, (claim.config, claim.full_config)):
            made = ROOT / 'results' / paper / Path(config).stem / published.RECORD
            assert ((claim.id, config) in judged) == made.exists() or f'- {claim.id}. ' in page


@pytest.mark.parametrize('paper', PAPERS)
def test_what_is_published_is_of_the_config_as_it_is(paper):
    for record in (ROOT / 'results' / paper).glob('*/record.json'):
        module = importlib.import_module(f'configs.{paper}.{record.parent.name}')
        assert published.is_current(record.parent, module.get_config(), module.sweep())


# Claims that are not judged from the full-scale sweep of their item, with why.
WITHOUT_FULL = {
    'chen2021': {
        '4a': 'the notebook has three temperatures; its own claims are 5a and 4c to 4j',
        '5c': 'its form on CIFAR-10 is 5d',
        '10a': 'ImageNet has no known regions',
        '10b': 'ImageNet has no known regions',
    }
}

# Checks of ours that no sentence of the paper makes.
OURS = {'chen2021': '4c 4d 4e 4f 4g 4h 4i 4j 6b 8b 10b'}
# Directions and thresholds of claims.md, which were written down before the runs; of controls zero.
BOUNDS = {
    'chen2021': {
        ('above', 0.0): '1a 1b 2b 3b 5a 5c 5d 7b 7e 8a 8b 10a 10b 11b',
        ('below', 0.0): '3a 4a 5b 6a 6b 8c 8e 11a',
        ('below', 0.1): '4b',
        ('below', -0.4): '7c',
        ('within', (0.0, 0.01)): '2a',
        ('within', (-0.01, 0.01)): '7a 7d 8d',
        ('within', (-0.03, 0.03)): '4c 4d 4e 4f 4g 4h 4i 4j',
        ('within', (-0.2, 0.2)): '9b 9c 9d',
        ('within', (0.5, 1.5)): '9a',
    }
}


@pytest.mark.parametrize('paper', PAPERS)
def test_directions_and_thresholds_are_those_written_before_the_runs(paper):
    wanted = {name: bound for bound, names in BOUNDS[paper].items() for name in names.split()}
    found = {claim.id: (claim.direction, claim.threshold) for claim in claims_of(paper)}
    assert found == wanted
    ours = {claim.id for claim in claims_of(paper) if claim.ours}
    assert ours == set(OURS[paper].split())
