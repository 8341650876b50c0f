r"""Digits on images by batch size and head depth (Chen 2021, the caption of Fig. 6), on a laptop.

python -m experiments.sweep --config=configs/chen2021/digit_on_image_ablation_laptop.py \
    --workdir=runs/digit_on_image_ablation_laptop

The fewest and the most digits of digit_on_image_laptop.py at temperature 0.2, as many images
seen, with two batch sizes and two heads; the learning rate goes with the square root of the batch.
Expected: as in the paper, what digits gain and objects lose hardly depends on either. Here
(results/chen2021/digit_on_image_ablation_laptop): digits gain 0.09 to 0.12 in the mean over seeds
whatever the batch and the head, 0.05 to 0.20 by seed, and objects lose nothing, so that there is no
trade to compare (8e, inconclusive); of a probe fitted to all digits they do not gain.
Time: 24 runs of 35 to 60 s on one CPU core.
Data: the photographs of the extra `photographs`.
"""

from configs.chen2021 import digit_on_image_laptop
from configs.chen2021.digit_on_image_laptop import BATCH, STEPS
from configs.chen2021.losses_laptop import HEADS
from configs.sweeps import product

BATCHES = 64, 128
NUMBERS = digit_on_image_laptop.NUMBERS[0], digit_on_image_laptop.NUMBERS[-1]


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = digit_on_image_laptop.get_config(arg)
    # 0.003 at a batch of 128.
    config.optimizer.update(learning_rate=2.65e-4, scaling='square_root')
    if not arg:
        config.model.head_widths = HEADS[2]
    return config


def sweep():
    """Batch sizes and heads by the number of digits, three seeds."""
    points = product(
        seed=(0, 1, 2),
        model__head_widths=tuple(HEADS.values()),
        batch_size=BATCHES,
        data__num_unique=NUMBERS,
    )
    return [{**point, 'num_steps': STEPS * BATCH // point['batch_size']} for point in points]


def figure(config):
    """How to draw the sweep: the digit against the number of digits."""

    def label(point):
        return f'head of {len(point["model.head_widths"])} layers, batch of {point["batch_size"]}'

    return digit_on_image_laptop.figure(config) | dict(
        title='Do batch size or head change what is learned of the digits?', label=label
    )
