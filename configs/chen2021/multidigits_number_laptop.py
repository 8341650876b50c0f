r"""Many digits at once are all learned (Chen 2021, Fig. 2 and Table 3), on a laptop.

python -m experiments.sweep --config=configs/chen2021/multidigits_number_laptop.py \
    --workdir=runs/multidigits_number_laptop --config.data.data_dir=data

Table 3 at two fifths of its scale: 1, 8 or 16 digits of 11 pixels (28) on a canvas of 48 (112),
anywhere or in the cells of a 4 x 4 grid; canvas, network, crops, batch and length are those of
multidigits_size_laptop.py. The probe reads images of one digit, placed as in training. With labels
1 and 16 digits alone are run.

Expected: as in the paper, 8 digits are learned as well as one (98.9 % both, placed at random), and
from one digit to 16 the grid gains on the random places (-0.6 to +1.9 points). Here
(results/chen2021/multidigits_number_laptop): 73 % with one, 59 % with 8 and 54 % with 16 at random
places; the grid gains -5.8, -3.3 and +6.2 points. With labels 91 % and 81 % (16 digits at random
places; in a grid 88 %), untrained 26 %.
Time: 30 runs of 2 to 8 minutes on one CPU core and 3 of half a minute, about 75 minutes on two.
Data: `tfds build mnist --file_format=array_record`, 21 MiB.
"""

from configs.chen2021 import multidigits_number, multidigits_size_laptop

NUMBERS = (1, 8, 16)


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = multidigits_size_laptop.get_config(arg)
    config.data.update(num_digits=1, sizes=(11,), placement='random')
    config.evaluation = dict(name='linear_probe', data=dict(num_digits=1))
    return config


def sweep():
    """Both losses and placements by the number of digits, and the untrained network."""
    numbers = dict(zip(multidigits_number.LOSSES, (NUMBERS, (1, 16)), strict=True))
    return multidigits_number.points(numbers, multidigits_size_laptop.NUM_STEPS)


def figure(config):
    """How to draw the sweep, with the paper's numbers."""
    return multidigits_number.figure(config)
