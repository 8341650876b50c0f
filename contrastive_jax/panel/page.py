"""The report as one HTML file that needs nothing else, as JSON, and as text for a terminal."""

import base64
import html
import json
import math

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
figure { display: inline-block; margin: 1rem 1rem 0 0; max-width: 100%; }
figure img { max-width: 100%; } figcaption { color: #666; font-size: .85em; max-width: 40rem; }
"""


def as_html(title, about, sections):
    """A self-contained page.

    Args:
      title: of the page.
      about: sentences under it.
      sections: a list of `Section`.

    Returns:
      HTML text, pictures included.
    """
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>',
        f'<h1>{html.escape(title)}</h1>',
        *(f'<p>{html.escape(sentence)}</p>' for sentence in about),
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
        rows.append(f'<tr><td>{html.escape(measure.name.replace("_", " "))}</td>')
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


def as_text(sections):
    """The measures and warnings as lines for a terminal."""
    lines = []
    for section in sections:
        lines += ['', section.title.upper()]
        lines += [section.text] if section.text else []
        lines += [f'  ! {warning}' for warning in section.warnings]
        if not section.measures:
            continue
        names = columns(section)
        lines.append(f'{"":<30}' + ''.join(f'{name:>26}' for name in names))
        for measure in section.measures:
            cells = [cell_of(measure.values.get(name)) for name in names]
            lines.append(
                f'  {measure.name.replace("_", " "):<28}' + ''.join(f'{c:>26}' for c in cells)
            )
    return '\n'.join(lines[1:])


def as_json(about, sections):
    """Every number, and every word, as JSON text; what is not finite is null."""

    def number(value):
        return value if value is None or math.isfinite(value) else None

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
    if number == int(number) and abs(number) < 1e6 if math.isfinite(number) else False:
        return str(int(number))
    return f'{number:.3f}' if 0.01 <= abs(number) < 1000 else f'{number:.3g}'
