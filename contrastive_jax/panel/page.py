"""The report as one HTML file that needs nothing else, as JSON, and as text for a terminal."""

import base64
import html
import json
import math
import textwrap

import numpy as np

# Of a terminal, in characters.
WIDTH = 118

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
  color: #222; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #ddd;
  vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.interval, .meaning { color: #666; font-size: .85em; }
.warning { background: #fff4e0; border-left: 4px solid #d95f02; padding: .5rem .8rem;
  margin: .6rem 0; }
.sound { background: #eef6ee; border-left: 4px solid #1b9e77; padding: .5rem .8rem; }
.warning ul { margin: .3rem 0 0; padding-left: 1.2rem; }
figure { display: inline-block; margin: 1rem 1rem 0 0; max-width: 100%; }
figure img { max-width: 100%; } figcaption { color: #666; font-size: .85em; max-width: 40rem; }
"""


def as_html(title, about, sections):
    """A self-contained page.

    Args:
      title: of the page.
      about: sentences under it.
      sections: a list of `Section`; what the warnings saw stands above them all.

    Returns:
      HTML text, pictures included.
    """
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>',
        f'<h1>{html.escape(title)}</h1>',
        *(f'<p>{html.escape(sentence)}</p>' for sentence in about),
        *summary_as_html(sections),
    ]
    for section in sections:
        parts.append(f'<h2>{html.escape(section.title)}</h2>')
        if section.text:
            parts.append(f'<p>{html.escape(section.text)}</p>')
        parts += [f'<p class="warning">{html.escape(text)}</p>' for text in section.warnings]
        if section.measures:
            parts.append(table(section))
        for caption, picture in section.pictures.items():
            data = base64.b64encode(picture).decode()
            caption = html.escape(caption)
            parts.append(
                f'<figure><img alt="{caption}" src="data:image/png;base64,{data}">'
                f'<figcaption>{caption}</figcaption></figure>'
            )
    return '\n'.join([*parts, '</body></html>\n'])


def table(section):
    """The measures of a section as an HTML table, a column for each representation."""
    names = columns(section)
    rows = [
        '<table><tr><th></th>',
        *(f'<th class="number">{html.escape(name)}</th>' for name in names),
        '<th></th></tr>',
    ]
    for measure in section.measures:
        rows.append(f'<tr><td>{html.escape(words(measure.name))}</td>')
        for name in names:
            value = measure.values.get(name)
            cell = '' if value is None else shown(value.value)
            if value is not None and value.low is not None:
                cell += (
                    f'<br><span class="interval">{shown(value.low)} to {shown(value.high)}</span>'
                )
            rows.append(f'<td class="number">{cell}</td>')
        rows.append(f'<td class="meaning">{html.escape(measure.meaning)}</td></tr>')
    return ''.join([*rows, '</table>'])


def summary(sections):
    """What each warning saw, without its usual causes, and one line that counts them."""
    seen = [text.partition(' Usually')[0] for section in sections for text in section.warnings]
    if not seen:
        return 'The doctor found nothing suspicious.', []
    count = '1 warning' if len(seen) == 1 else f'{len(seen)} warnings'
    return f'The doctor has {count}; the usual causes are at the end.', seen


def summary_as_html(sections):
    """The summary as a box."""
    headline, seen = summary(sections)
    lines = ''.join(f'<li>{html.escape(text)}</li>' for text in seen)
    kind = 'warning' if seen else 'sound'
    return [f'<div class="{kind}">{headline}', f'<ul>{lines}</ul>' if seen else '', '</div>']


def as_text(sections):
    """The measures and warnings as lines for a terminal: the doctor's summary, then all of it."""
    headline, seen = summary(sections)
    lines = [headline.upper()]
    for text in seen:
        lines += wrapped(text, '  ! ')
    for section in sections:
        lines += ['', section.title.upper()]
        lines += wrapped(section.text) if section.text else []
        for warning in section.warnings:
            lines += wrapped(warning, '  ! ')
        lines += text_table(section) if section.measures else []
    return '\n'.join(lines)


def wrapped(text, first=''):
    """Lines of at most WIDTH, those behind the first one indented as far as `first`."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=' ' * len(first),
        break_on_hyphens=False,
    )  # fmt: skip


def text_table(section):
    """The measures of a section as lines, and below them what each of them means."""
    names = columns(section)
    labels = [words(measure.name) for measure in section.measures]
    cells = {
        name: [name, *(cell_of(measure.values.get(name)) for measure in section.measures)]
        for name in names
    }
    first = max(len(label) for label in labels) + 2
    widths = {name: max(map(len, found)) + 3 for name, found in cells.items()}
    lines = []
    while names:  # as many columns as fit beside each other, then the others below
        fitting = [
            name
            for number, name in enumerate(names)
            if not number or first + sum(widths[n] for n in names[: number + 1]) <= WIDTH
        ]
        for place, label in enumerate(['', *labels]):
            row = ''.join(f'{cells[name][place]:>{widths[name]}}' for name in fitting)
            lines += [f'  {label:<{first - 2}}{row}'.rstrip()] if row.strip() else []
        names = names[len(fitting) :]
    return lines + legend(section)


def legend(section):
    """What the measures mean; those of several factors, '<factor>: <name>', stand there once."""
    meanings = {}
    for measure in section.measures:
        name = words(measure.name).rpartition(': ')[2]
        meanings.setdefault(measure.meaning, []).append(name)
    lines = ['']
    for meaning, names in meanings.items():
        shown = ' and '.join(dict.fromkeys(names))
        lines += wrapped(f'{shown}: {meaning}', '    ') if meaning else []
    return lines


def words(name):
    """A measure's name as it is read; those of factors and layers stay as a flag needs them."""
    of, colon, what = name.rpartition(': ')
    return of + colon + (what.replace('_', ' ') if what == what.lower() else what)


def as_json(about, sections):
    """Every number, and every word, as JSON text; what is not finite is null."""

    def number(value):
        return value if value is None or math.isfinite(value) else None

    def plain(values):
        if isinstance(values, dict):
            return {name: plain(value) for name, value in values.items()}
        if isinstance(values, list | tuple | np.ndarray):
            return [plain(value) for value in values]
        values = values.item() if isinstance(values, np.generic) else values
        return number(values) if isinstance(values, float) else values

    return json.dumps(
        {
            'about': list(about),
            'sections': {
                section.title: {
                    'text': section.text,
                    'warnings': list(section.warnings),
                    'measures': {
                        measure.name: {
                            of: {
                                'value': number(value.value),
                                'low': number(value.low),
                                'high': number(value.high),
                            }
                            for of, value in measure.values.items()
                        }
                        for measure in section.measures
                    },
                    'details': plain(section.details),
                }
                for section in sections
            },
        },
        indent=1,
    )


def columns(section):
    """The representations of a section in the order of their first measure."""
    return list(dict.fromkeys(name for measure in section.measures for name in measure.values))


def cell_of(value):
    """A value with its interval as text; '' where there is none."""
    if value is None:
        return ''
    if value.low is None:
        return shown(value.value)
    return f'{shown(value.value)} [{shown(value.low)}, {shown(value.high)}]'


def shown(number):
    """A number with the digits that matter."""
    size = abs(number)
    if size < 1e6 and (size >= 1e3 or size == int(size)):
        return f'{number:.0f}'
    return f'{number:.3f}' if 0.01 <= size < 1e3 else f'{number:.3g}'
