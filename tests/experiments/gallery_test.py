"""The gallery has a picture of every data set and of every view."""

import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from contrastive_jax.data import probing
from contrastive_jax.views.lab import MEAN, SCALE, rgb_to_lab, split_lab
from experiments import gallery_images, gallery_page

ROOT = Path(__file__).parents[2]


def test_every_data_set_has_a_picture_and_the_page_shows_what_is_there():
    pictures = set(gallery_page.PICTURES)
    for name in probing.__all__:  # the source itself needs none
        assert any(picture.startswith(name) for picture in pictures) == (name != 'plain')
    page = (ROOT / 'docs' / 'gallery.md').read_text(encoding='utf-8')
    assert {path.stem for path in (ROOT / 'docs').glob('*.png')} == pictures
    assert all(f']({name}.png)' in page for name in pictures)


def test_one_picture_by_its_name(tmp_path):
    gallery_page.write(tmp_path, ['k_bit_images'], 'noise:12,size=16')
    assert [path.name for path in tmp_path.glob('*.png')] == ['k_bit_images.png']
    written, kept = ((folder / 'gallery.md').read_text() for folder in (tmp_path, ROOT / 'docs'))
    assert written == kept


@pytest.mark.slow
def test_the_command_draws_every_picture(tmp_path):
    command = [sys.executable, '-m', 'experiments.gallery', f'--output={tmp_path}']
    subprocess.run(
        [*command, '--hosts=noise:12,size=16'], cwd=ROOT, check=True, capture_output=True
    )
    assert {path.stem for path in tmp_path.glob('*.png')} == set(gallery_page.PICTURES)


def test_colours_are_shown_as_they_are_at_one_lightness():
    image = np.full((1, 6, 3), 0.5, np.float32)
    image[0, :, 0] += np.linspace(-0.1, 0.1, 6, dtype=np.float32)
    shown = gallery_images.rgb_of_colour(jax.device_get(split_lab(image)[1]))
    lab = jax.device_get(rgb_to_lab(shown.astype(np.float32)))
    np.testing.assert_allclose(lab[..., 0], 65, atol=0.01)
    expected = jax.device_get(split_lab(image)[1]) * SCALE[1:] + MEAN[1:]
    np.testing.assert_allclose(lab[..., 1:], expected, atol=0.05)
