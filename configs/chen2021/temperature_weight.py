r"""Temperature against weight of the distribution term on CIFAR-10 (Chen 2021, Fig. A.2).

python -m experiments.sweep --config=configs/chen2021/temperature_weight.py --workdir=...
python -m experiments.train --config=configs/chen2021/temperature_weight.py --workdir=...
python -m launch.preflight --config=configs/chen2021/temperature_weight.py --topology=v5e:2x4

Decoupled NT-Xent (Eq. 4), ResNet-18, 200 epochs, linear probe. Unstated in the paper, and taken
here as for its other CIFAR-10 runs: batch 128, a head of 2 layers to d = 64, LARS of rate
0.2 sqrt(batch), weight decay, warm-up and linear protocol of the official code; the grid is ours,
since the printed figure's ticks are not in the text.
Expected: a ridge of good pairs; the paper gives colours without numbers. Not run here.
Time: not run here; the preflight prints what a slice needs at least. The arg 'smoke' takes under a
minute on a laptop. Data: `tfds build cifar10 --file_format=array_record`, 132 MiB.
"""

from ml_collections import ConfigDict

from configs.chen2021 import temperature_weight_laptop as laptop
from configs.sweeps import product

EXAMPLES, EPOCHS, WARMUP_EPOCHS = 50_000, 200, 10
TEMPERATURES, WEIGHTS = (0.05, 0.1, 0.2, 0.5, 1.0), (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = ConfigDict()
    config.seed = 0
    config.batch_size = 128
    config.num_steps = EXAMPLES * EPOCHS // config.batch_size + 1
    config.log_every = 100
    config.checkpoint_every = 3906
    config.evaluate_every = 0
    config.data = dict(source='tfds:cifar10', data_dir='', probing='plain')
    config.views = dict(name='simclr_cifar')
    config.model = dict(
        name='resnet', depth=18, stem='cifar', dtype='bfloat16', head_layers=2, dimensions=64
    )
    config.loss = dict(name='decoupled_nt_xent', temperature=0.2, weight=0.2)
    config.optimizer = dict(
        name='lars',
        learning_rate=0.2,
        scaling='square_root',
        warmup=WARMUP_EPOCHS / EPOCHS,
        weight_decay=1e-4,
    )
    config.evaluation = dict(name='linear_probe')
    if arg == 'smoke':
        config.num_steps, config.batch_size, config.log_every = 2, 16, 1
        config.data.source = 'photographs,size=32,count=10'
        config.model.update(width=0.125, dtype='float32')
    elif arg:
        raise ValueError(f"the config's argument is {arg!r}, not one of: '', 'smoke'.")
    return config


def sweep():
    """The grid."""
    return product(loss__temperature=TEMPERATURES, loss__weight=WEIGHTS)


figure = laptop.figure
