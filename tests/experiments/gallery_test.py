"""The gallery shows every data set that has a picture."""

import subprocess
import sys
from pathlib import Path

from contrastive_jax.data import probing

ROOT = Path(__file__).parents[2]

# The source itself, randbit without its image, and vectors of ten dimensions.
SHOWN_ELSEWHERE = ('plain', 'k_bit_images', 'content_style')


def test_every_data_set_is_drawn(tmp_path):
    command = [sys.executable, '-m', 'experiments.gallery', f'--output={tmp_path}']
    subprocess.run(
        [*command, '--hosts=noise:12,size=16'], cwd=ROOT, check=True, capture_output=True
    )
    page = (tmp_path / 'gallery.md').read_text()
    names = [picture.stem for picture in tmp_path.glob('*.png')]
    assert all(f']({name}.png)' in page for name in names)
    for name in probing.__all__:
        assert any(drawn.startswith(name) for drawn in names) == (name not in SHOWN_ELSEWHERE)
