r"""A large digit suppresses a small one (Chen 2021, Table 4), on a laptop.

python -m experiments.sweep --config=configs/chen2021/multidigits_size_laptop.py \
    --workdir=runs/multidigits_size_laptop --config.data.data_dir=data

Table 4 in small, the paper's in brackets: a canvas of 48 pixels (112), the first digit of 12 (20),
which a small network can still read, the second of 12, 27 or 36 (20 to 80), a small network whose
last convolution is averaged over the canvas (ResNet-18), batches of 256 (1,024 in our full config),
6 passes over MNIST (100 there). Crops have at least half of the area, so that a small digit
survives them.
`test_accuracy` is the linear probe of images with one digit of 12 pixels, `test_accuracy_size_27`
that of 27, and so on. Temperature 0.05 is run at the two largest sizes alone.

Expected: as in the paper, the small digit's accuracy falls with the size of the other at
temperature 0.2 (there from 98.7 to 20.3 %), less at 0.05, and not with labels (99.1 to 99.0 %).
Here (results/chen2021/multidigits_size_laptop) in the same order, but less: 0.77 to 0.46 at
temperature 0.2, 0.53 at 0.05, and with labels, which have not learned the small digit to its end
either, 0.93 to 0.79; untrained 0.27. The large digit stays at 0.92 or more.
Time: 27 runs of 1 to 7 minutes on one CPU core, about an hour on two.
Data: `tfds build mnist --file_format=array_record`, 21 MiB.
"""

from ml_collections import ConfigDict

from configs.chen2021.multidigits_size import LOSSES, figure_of, one_digit_of, points

FIRST, SECOND = 12, (12, 27, 36)
NUM_STEPS = 1500


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = ConfigDict()
    config.seed = 0
    config.num_steps = NUM_STEPS
    config.batch_size = 256
    config.log_every = 50
    config.checkpoint_every = 0
    config.evaluate_every = 0
    config.data = dict(
        source='tfds:mnist', data_dir='data', probing='multidigits', canvas=48, num_digits=2,
        sizes=(FIRST, FIRST), fresh=True,
    )  # fmt: skip
    config.views = dict(name='crop_only', area_range=(0.5, 1.0), method='linear')
    config.model = dict(name='convnet', channels=(16, 32, 64), average_places=True)
    config.loss = dict(name='nt_xent', temperature=0.2)
    config.optimizer = dict(name='adam', learning_rate=3e-3, schedule='cosine')
    config.evaluation = dict(name='linear_probe', **one_digit_of(SECOND))
    if arg == 'smoke':
        config.num_steps, config.batch_size, config.log_every = 2, 16, 1
        config.data.source = 'digits'
        config.model.update(channels=(4, 4, 4), features=8, head_widths=(8, 4))
    elif arg:
        raise ValueError(f"the config's argument is {arg!r}, not one of: '', 'smoke'.")
    return config


def sweep():
    """The losses by the sizes of the second digit, and the untrained network; three seeds."""
    sizes = dict(zip(LOSSES, (SECOND, SECOND[1:], SECOND), strict=True))
    return points(sizes, FIRST, NUM_STEPS)


def figure(config):
    """How to draw the sweep: the first digit against the size of the second."""
    del config
    return figure_of(SECOND)
