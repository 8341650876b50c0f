r"""Digits on images by batch size and head depth (Chen 2021, the caption of Fig. 6), on ImageNet.

python -m experiments.sweep --config=configs/chen2021/digit_on_image_ablation.py \
    --workdir=runs/digit_on_image_ablation --config.data.data_dir=data

The runs of digit_on_image.py at temperature 0.2, for as many epochs, with two batch sizes and two
heads; what these are is not stated in the paper but for batch 1024 and 2 layers.
Expected: negligible influence on how accuracy on digits is traded for accuracy on objects (no
numbers). Not run here. Time: not run here; the preflight prints what a slice needs at least.
Data: `tfds build imagenet2012 --file_format=array_record`, 156 GiB, and `tfds build mnist`.
"""

from configs.chen2021 import at_batches, at_seeds, digit_on_image
from configs.sweeps import product

BATCHES, HEAD_LAYERS, NUMBERS, WARMUP_EPOCHS = (1024, 2048), (2, 3), (4, 64, 60_000), 10


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = digit_on_image.get_config(arg)
    if not arg:
        config.optimizer.warmup = digit_on_image.EXAMPLES * WARMUP_EPOCHS // config.batch_size
    return config


def sweep():
    """Batch sizes and head depths by the number of digits, three seeds."""
    points = product(model__head_layers=HEAD_LAYERS, data__num_unique=NUMBERS)
    epochs = digit_on_image.EXAMPLES, digit_on_image.EPOCHS, WARMUP_EPOCHS
    return at_seeds(at_batches(points, BATCHES, *epochs))


def figure(config):
    """How to draw the sweep: the digit against the number of digits."""
    return digit_on_image.figure(config)
