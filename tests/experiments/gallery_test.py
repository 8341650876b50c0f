"""The gallery shows every data set, from the examples that training would see."""

import numpy as np

from contrastive_jax.data import probing
from experiments import gallery


def test_every_data_set_is_drawn_and_sides_are_those_of_training():
    entries = gallery.entries('noise:12,size=16', '')
    titles = ' '.join(name for name, *_ in entries)
    # The source itself, randbit without its image, and vectors of ten dimensions.
    shown_elsewhere = ('plain', 'k_bit_images', 'content_style')
    assert all(name in titles for name in probing.__all__ if name not in shown_elsewhere)
    for name, _, _, dataset in entries:
        first, second = gallery.sides(dataset, np.arange(3))
        assert np.array_equal(first['image'], second['image']) != dataset.sides_differ, name
    for _, _, _, dataset in entries[-4:-1]:  # two rows, a strip of bits, points
        axes = gallery.figure_of(dataset).axes
        assert all(panel.images or panel.collections for panel in axes)
