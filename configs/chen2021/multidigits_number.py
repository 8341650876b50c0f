r"""Many digits at once are all learned (Chen 2021, Fig. 2 and Table 3), on all of MNIST.

python -m experiments.sweep --config=configs/chen2021/multidigits_number.py \
    --workdir=runs/multidigits_number --config.data.data_dir=data

1 to 16 digits of 28 pixels stand on a canvas of 112, anywhere or in the cells of a 4 x 4 grid. At
the end a linear classifier is fitted to images of one digit, placed as in training. The supervised
twin sees the same crops and is told which digits are present; the untrained network is the run of
no steps. What the paper leaves open, and the choices: see multidigits_size.py; the temperature and
the batch are unstated too, and 0.2 and 1,024 here.

Expected: PAPER, and 18 % of the untrained network; not run here. Time: not run here; the preflight
prints what a slice needs at least. Data: `tfds build mnist --file_format=array_record`, 21 MiB.
"""

from configs.chen2021 import multidigits_size

NUMBERS = (1, 2, 4, 8, 12, 16)
LOSSES = ('nt_xent,temperature=0.2', 'multi_label')

# Loss and placement to accuracy, for NUMBERS.
PAPER = {
    (LOSSES[0], 'random'): (0.989, 0.989, 0.990, 0.989, 0.982, 0.964),
    (LOSSES[0], 'grid'): (0.983, 0.986, 0.991, 0.992, 0.991, 0.983),
    (LOSSES[1], 'random'): (0.995, 0.995, 0.993, 0.994, 0.989, 0.983),
    (LOSSES[1], 'grid'): (0.995, 0.996, 0.995, 0.993, 0.986, 0.924),
}
UNTRAINED = 0.18


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = multidigits_size.get_config(arg)
    config.data.update(num_digits=1, sizes=(28,), placement='random')
    config.evaluation = dict(name='linear_probe', data=dict(num_digits=1))
    return config


def points(numbers_of_loss, num_steps):
    """Each loss with its numbers of digits and both placements, and one run of no steps.

    Args:
      numbers_of_loss: loss as text to numbers of digits.
      num_steps: of the runs that train.
    """
    runs = [
        {'loss': loss, 'data.placement': placement, 'data.num_digits': number}
        for loss, numbers in numbers_of_loss.items()
        for placement in ('random', 'grid')
        for number in numbers
    ]
    untrained = {'loss': LOSSES[0], 'data.placement': 'random', 'data.num_digits': 1}
    runs = [{**run, 'num_steps': num_steps} for run in runs] + [{**untrained, 'num_steps': 0}]
    return [{**run, 'seed': seed} for seed in (0, 1, 2) for run in runs]


def sweep():
    """Table 3, and the untrained network; three seeds."""
    return points(dict.fromkeys(LOSSES, NUMBERS), multidigits_size.NUM_STEPS)


def figure(config):
    """How to draw the sweep, with the paper's numbers."""
    del config
    return dict(
        title='What is learned of digits that share a canvas',
        x='data.num_digits',
        x_label='digits on the canvas in training',
        y='test_accuracy',
        y_label='linear-probe accuracy on one digit',
        chance=0.1,
        references=[
            dict(label=f'paper, {loss}, {placement}', x=NUMBERS, y=accuracies)
            for (loss, placement), accuracies in PAPER.items()
        ],
    )
