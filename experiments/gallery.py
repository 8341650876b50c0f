"""Pictures of every probing dataset and of every named view.

python -m experiments.gallery --output=docs

Writes gallery.md and one PNG for each data set. Needs nothing to download; with
--hosts=tfds:imagenette,size=224 --data_dir=... the natural images are those of a TFDS data set, and
with --only=cdp --only=views only these pictures are drawn anew.
"""

from pathlib import Path

from absl import flags

from experiments import cli
from experiments.gallery_page import PICTURES, write

OUTPUT = flags.DEFINE_string('output', 'docs', 'Directory for gallery.md and the pictures.')
HOSTS = flags.DEFINE_string('hosts', 'photographs,size=64,count=200', 'Source of natural images.')
DATA_DIR = flags.DEFINE_string('data_dir', '', 'Where TFDS prepared its data sets.')
ONLY = flags.DEFINE_multi_enum('only', [], PICTURES, 'A picture to draw; may be repeated.')


def main():
    """Draws what the flags say."""
    write(Path(OUTPUT.value), ONLY.value or PICTURES, HOSTS.value, DATA_DIR.value)


if __name__ == '__main__':
    cli.run(main)
