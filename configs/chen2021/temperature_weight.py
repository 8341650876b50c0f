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

from configs.chen2021 import at_seeds, cifar10_losses, of_epochs
from configs.chen2021 import temperature_weight_laptop as laptop
from configs.sweeps import product

EXAMPLES, EPOCHS, WARMUP_EPOCHS = 50_000, 200, 10
TEMPERATURES, WEIGHTS = (0.05, 0.1, 0.2, 0.5, 1.0), (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    if arg not in ('', 'smoke'):
        raise ValueError(f"the config's argument is {arg!r}, not one of: '', 'smoke'.")
    config = cifar10_losses.get_config(arg)
    config.loss = dict(name='decoupled_nt_xent', temperature=0.2, weight=0.2)
    if not arg:
        config.model.depth = 18
        run = of_epochs(EXAMPLES, EPOCHS, WARMUP_EPOCHS, config.batch_size)
        config.update_from_flattened_dict(run)
    return config


def sweep():
    """The grid, three seeds."""
    return at_seeds(product(loss__temperature=TEMPERATURES, loss__weight=WEIGHTS))


figure = laptop.figure
