"""Which pixels of a composed image belong to what was laid on it."""

import numpy as np


def box_regions(places, sizes, shape):
    """Square pictures on a canvas as a map of ids, 0 where there is none.

    Args:
      places: integers [n, m, 2], row and column of the upper left corner of each picture.
      sizes: sides of the m pictures in pixels.
      shape: (height, width) of the canvas.

    Returns:
      int32 [n, height, width]: j from 1 to m on the whole square of picture j. Where two overlap it
      is the smaller one, and of two equal ones the later.
    """
    places = np.asarray(places)
    regions = np.zeros((len(places), *shape), np.int32)
    rows, columns = (np.arange(side) for side in shape)
    for j in sorted(range(len(sizes)), key=lambda j: -sizes[j]):
        top, left = places[:, j, 0, None], places[:, j, 1, None]
        in_rows = (rows >= top) & (rows < top + sizes[j])
        in_columns = (columns >= left) & (columns < left + sizes[j])
        regions[in_rows[:, :, None] & in_columns[:, None, :]] = j + 1
    return regions
