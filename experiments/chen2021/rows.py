"""What a row of results.csv says of its run, whether of a laptop's sweep or of a full-scale one."""

import numpy as np


def layers_of(row):
    """The layers of the projection head, which a laptop's configs name by their widths."""
    return row.get('model.head_layers') or len(row['model.head_widths'])


def images_of(row):
    """How many images the run saw, to three digits: the same for as many epochs.

    Batches of other sizes end their last epoch some images apart.
    """
    return int(float(f'{row["num_steps"] * row["batch_size"]:.3g}'))


def grouped(rows, *keys):
    """{what the keys give: the rows}, each key a function of a row."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(key(row) for key in keys), []).append(row)
    return groups


def range_of(rows):
    """Greatest minus least accuracy."""
    return float(np.ptp([row['test_accuracy'] for row in rows]))
