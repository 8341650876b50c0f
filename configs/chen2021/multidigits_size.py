r"""A large digit suppresses a small one (Chen 2021, Table 4), on all of MNIST.

python -m experiments.sweep --config=configs/chen2021/multidigits_size.py \
    --workdir=runs/multidigits_size --config.data.data_dir=data

Two digits stand anywhere on a canvas of 112 pixels, the first of 20, the second of 20 to 80. At the
end a linear classifier is fitted for each size, of images with one digit of that size:
`test_accuracy` is that of 20 pixels, `test_accuracy_size_30` that of 30, and so on. The supervised
twin sees the same crops and is told which digits are present; the untrained network is the run of
no steps.

Unstated in the paper, with the choice taken: overlaps (the brighter pixel), draws (digits and
places anew at every visit), least area of a crop (0.08, as in SimCLR), epochs (100), head (2
layers, d = 64), optimizer and warm-up (those of CIFAR-10: LARS, 0.2 sqrt(B), 10 % of the run), the
supervised loss (multi-label), the probe (logistic regression).
Expected: PAPER, not run here. Time: not run here; the preflight prints what a slice needs at least.
Data: `tfds build mnist --file_format=array_record`, 21 MiB.
"""

import numpy as np
from ml_collections import ConfigDict

FIRST, SECOND = 20, (20, 30, 40, 50, 60, 70, 80)
EPOCHS, BATCH = 100, 1024
NUM_STEPS = 60_000 * EPOCHS // BATCH + 1
LOSSES = ('nt_xent,temperature=0.2', 'nt_xent,temperature=0.05', 'multi_label')

# Loss to the accuracies of the first digit and of the second, for SECOND.
PAPER = {
    'nt_xent,temperature=0.2': (
        (0.987, 0.988, 0.983, 0.875, 0.249, 0.198, 0.203),
        (0.987, 0.992, 0.992, 0.990, 0.991, 0.989, 0.994),
    ),
    'nt_xent,temperature=0.05': (
        (0.978, 0.976, 0.962, 0.965, 0.885, 0.745, 0.399),
        (0.978, 0.979, 0.978, 0.983, 0.982, 0.977, 0.982),
    ),
    'multi_label': (
        (0.991, 0.992, 0.992, 0.992, 0.991, 0.991, 0.990),
        (0.991, 0.995, 0.995, 0.996, 0.995, 0.995, 0.996),
    ),
    'untrained': (
        (0.165, 0.167, 0.166, 0.166, 0.166, 0.169, 0.165),
        (0.165, 0.191, 0.219, 0.241, 0.265, 0.281, 0.290),
    ),
}


def one_digit_of(sizes):
    """What an evaluation reads: one digit on the canvas, of the first size and of each other."""
    data = {size: dict(num_digits=1, sizes=(size,)) for size in sizes}
    also = {f'size_{size}': dict(data=own) for size, own in list(data.items())[1:]}
    return dict(data=data[sizes[0]], also=also)


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = ConfigDict()
    config.seed = 0
    config.num_steps = NUM_STEPS
    config.batch_size = BATCH
    config.log_every = 50
    config.checkpoint_every = 1000
    config.evaluate_every = 0
    config.data = dict(
        source='tfds:mnist', data_dir='', probing='multidigits', canvas=112, num_digits=2,
        sizes=(FIRST, FIRST), fresh=True,
    )  # fmt: skip
    config.views = dict(name='crop_only')
    config.model = dict(name='resnet', depth=18, dtype='bfloat16', head_layers=2, dimensions=64)
    config.loss = dict(name='nt_xent', temperature=0.2)
    config.optimizer = dict(
        name='lars', learning_rate=0.2, scaling='square_root', warmup=0.1, weight_decay=1e-4
    )
    config.evaluation = dict(name='linear_probe', **one_digit_of(SECOND))
    if arg == 'smoke':
        config.num_steps, config.batch_size, config.log_every = 2, 16, 1
        config.data.source = 'digits'
        config.model.update(width=0.125, dtype='float32')
        config.evaluation.also = {'size_80': config.evaluation.also.size_80}
    elif arg:
        raise ValueError(f"the config's argument is {arg!r}, not one of: '', 'smoke'.")
    return config


def points(second_of_loss, first, num_steps):
    """The second sizes of each loss, and one run of no steps; three seeds.

    Args:
      second_of_loss: loss as text to sizes of the second digit.
      first: size of the first digit.
      num_steps: of the runs that train.
    """
    runs = [
        {'loss': loss, 'data.sizes': (first, second), 'num_steps': num_steps}
        for loss, sizes in second_of_loss.items()
        for second in sizes
    ]
    runs.append({'loss': LOSSES[0], 'data.sizes': (first, first), 'num_steps': 0})
    return [{**run, 'seed': seed} for seed in (0, 1, 2) for run in runs]


def sweep():
    """Table 4: three losses by seven sizes, and the untrained network."""
    return points(dict.fromkeys(LOSSES, SECOND), FIRST, NUM_STEPS)


def figure(config):
    """How to draw the sweep: the first digit against the size of the second."""
    del config
    return figure_of(SECOND)


def figure_of(second):
    """The figure where the sweep has these sizes of the second digit, in multiples of the first."""
    # The sizes are text on the axis, one apart: the paper's stand where their ratio would.
    places = np.interp(np.divide(SECOND, FIRST), np.divide(second, second[0]), range(len(second)))
    shown = np.divide(SECOND, FIRST) <= second[-1] / second[0]
    return dict(
        title='What is learned of a small digit beside a large one',
        x='data.sizes',
        x_label='sizes of the two digits in pixels (paper: 20 and 20 to 80)',
        y='test_accuracy',
        y_label='linear-probe accuracy on the small digit',
        chance=0.1,
        references=[
            dict(label=f'paper, {loss}', x=places[shown], y=np.array(first)[shown])
            for loss, (first, _) in PAPER.items()
        ],
    )
