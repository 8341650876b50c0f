"""The page of a paper: verdicts, figures and items, ours beside the paper's."""

import csv
from collections import Counter
from pathlib import Path

BEGIN, END = '<!-- begin: made by python -m experiments.reproduce -->', '<!-- end -->'
COLUMNS = ('item', 'full_config', 'laptop_config', 'claims', 'without_runs')
WORDS = {'holds': 'holds', 'does_not_hold': '**does not hold**', 'inconclusive': 'inconclusive'}


def read_items(path):
    """The rows of an items.csv as dicts of its columns."""
    with Path(path).open(newline='', encoding='utf-8') as file:
        return list(csv.DictReader(file))


def say(records, waiting):
    """Prints the verdicts, and what the other claims wait for."""
    for record in records:
        needs = requirement(record['threshold'], record['direction'])
        ours = interval(record)
        verdict = WORDS[record['verdict']].strip('*')
        print(f'{record["id"]:>5}  {verdict:<14} {ours}  ({needs}){at_scale(record)}')
        print(f'       {record["claim"]}')
    for claim, reason in waiting:
        print(f'{claim.id:>5}  {reason}\n       {claim.claim}')
    print(summary(records, waiting))


def summary(records, waiting):
    """How many of the paper's claims got which verdict, then of our own checks: a sentence each.

    Of a claim that is judged at two scales the full one counts.
    """
    sentences = []
    for ours, what in ((False, 'claims of the paper'), (True, 'checks of our own')):
        verdicts = {record['id']: record['verdict'] for record in records if record['ours'] is ours}
        others = {claim.id for claim, _ in waiting if claim.ours is ours} - set(verdicts)
        own = Counter(verdicts.values())
        if verdicts or others:
            sentences.append(
                f'Of {len(verdicts) + len(others)} {what}, {len(verdicts)} are judged: hold '
                f'{own["holds"]}, do not hold {own["does_not_hold"]}, inconclusive at this scale '
                f'{own["inconclusive"]}.'
            )
    return ' '.join(sentences)


def at_scale(record):
    """What tells a verdict at the paper's scale from the laptop's."""
    return ' at full scale' if record['full_scale'] else ''


def interval(record):
    """The estimate with its interval."""
    middle, low, high = (
        f'{round(record[name], 9) + 0.0:.3g}'  # what is left of a 0 by rounding is a 0
        for name in ('estimate', 'low', 'high')
    )
    return f'{middle} [{low}, {high}]'


def requirement(threshold, direction):
    """What the interval must be for the claim to hold."""
    if direction == 'within':
        return f'in [{threshold[0]:g}, {threshold[1]:g}]'
    return f'{"above" if direction == "above" else "below"} {threshold:g}'


def write(page, paper, items, records, waiting, there):
    """Replaces what lies between the marks of a README.

    Args:
      page: its path; it has the two marks.
      paper: name of the paper.
      items: of `read_items`.
      records: of the claims that were judged, as in claims.json.
      waiting: (claim, reason) of the others.
      there: {config name: (rows, record)} of what was run.
    """
    text = page.read_text(encoding='utf-8')
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    parts = [*verdicts(records, waiting), *figures(paper, items, there), *table(items, there)]
    page.write_text(head + '\n'.join([BEGIN, *parts, END]) + tail, encoding='utf-8')


def verdicts(records, waiting):
    """Lines: how many hold, a table of the claims that were judged, then the others."""
    yield from ('', '## Verdicts', '', summary(records, waiting), '')
    yield '| | claim | statistic | paper | ours, 95 % interval | seeds | needs | verdict |'
    yield '|---|---|---|---|---|---|---|---|'
    for record in records:
        paper = '' if record['paper_value'] is None else f'{record["paper_value"]:.3g}'
        verdict = WORDS[record['verdict']]
        if record['verdict'] != 'holds' and record['scale_needed']:
            verdict += f'; {record["scale_needed"]}'
        source = f'{record["source"]}; our check' if record['ours'] else record['source']
        cells = (
            record['id'] + at_scale(record), f'{record["claim"]} ({source})',
            record['statistic'], paper, interval(record), len(record['seeds']),
            requirement(record['threshold'], record['direction']), verdict,
        )  # fmt: skip
        yield f'| {" | ".join(map(str, cells))} |'
    if waiting:
        yield from ('', 'Not judged:', '')
        yield from (f'- {claim.id}. {claim.claim} ({reason})' for claim, reason in waiting)


def figures(paper, items, there):
    """Lines: the picture of every experiment that was run, with what made it."""
    for name, (_, record) in there.items():
        shown = [
            item['item'] for item in items
            if name in (Path(item['laptop_config']).stem, Path(item['full_config']).stem)
        ]  # fmt: skip
        at = f'../../results/{paper}/{name}'
        yield from ('', f'## {"; ".join(shown)} (`{name}`)', '', f'![{name}]({at}/figure.png)', '')
        yield (
            f'{record["scale"]}, together {record["seconds"] / 60:.0f} minutes, on '
            f'{record["machine"]}; [rows]({at}/results.csv), [what made them]({at}/record.json): '
            f'`{record["command"]}`'
        )


def table(items, there):
    """Lines: every item of the paper, with its configs and whether they were run."""
    yield from ('', '## Items', '', '| item | full scale | laptop | claims | state |')
    yield '|---|---|---|---|---|'
    for item in items:
        name = Path(item['laptop_config']).stem
        ran = name in there and f'run on {there[name][1]["data"]}'
        state = item['without_runs'] or ran or 'not run'
        full = Path(item['full_config']).stem
        full = full and f'`{full}`' + ('' if full in there else ', not run')
        cells = (item['item'], full, name and f'`{name}`', item['claims'], state)
        yield f'| {" | ".join(cells)} |'
    yield ''
