"""The report as a browser shows it."""

import html
import json
import re
import shutil
import subprocess

import pytest

from contrastive_jax import panel
from contrastive_jax.panel import information, page

BROWSER = shutil.which('chromium') or shutil.which('google-chrome')
# What the page looks like once everything in it is loaded, in a place where a test can read it.
LOOK = """<script>addEventListener('load', () => {
  const pictures = [...document.images].map(i => [i.complete, i.naturalWidth, i.clientWidth]);
  const tables = [...document.querySelectorAll('table')].map(t => t.clientWidth);
  const shown = [document.documentElement.scrollWidth, innerWidth, document.body.innerText];
  document.title = JSON.stringify([pictures, tables, ...shown]);
});</script>"""


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason='needs chromium')
@pytest.mark.parametrize('width', [1200, 500])
def test_a_browser_shows_every_picture_and_table_within_the_window(
    material, tmp_path, monkeypatch, width
):
    monkeypatch.setattr(information, 'STEPS', 20)
    sections = panel.measure(material)
    file = tmp_path / 'report.html'
    text = page.as_html('A <title>', material.about, sections)
    file.write_text(text.replace('</body>', f'{LOOK}</body>'), encoding='utf-8')
    done = subprocess.run(
        [BROWSER, '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run',
         '--disable-dev-shm-usage',
         '--disable-background-networking', '--disable-component-update', '--disable-sync',
         f'--user-data-dir={tmp_path / "profile"}', f'--window-size={width},800', '--dump-dom',
         '--virtual-time-budget=10000', file.as_uri()],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    title = re.search('<title>(.*?)</title>', done.stdout, re.DOTALL)
    pictures, tables, across, window, words = json.loads(html.unescape(title.group(1)))
    assert len(pictures) == sum(len(part.pictures) for part in sections) > 3
    for complete, own, shown in pictures:
        assert complete
        assert own > 300
        assert 100 < shown <= window
    assert len(tables) == sum(bool(part.measures) for part in sections)
    assert across <= window  # nothing is to be scrolled sideways
    assert words.startswith('A <title>')
    for part in sections:
        assert part.title in words
