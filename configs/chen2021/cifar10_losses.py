r"""The five losses on CIFAR-10 (Chen 2021, Table A.1; the left of Fig. 1, at batch 128).

python -m experiments.train --config=configs/chen2021/cifar10_losses.py --workdir=...
python -m experiments.train --config=configs/chen2021/cifar10_losses.py:swd_hypersphere ...
python -m experiments.sweep --config=configs/chen2021/cifar10_losses.py --workdir=...
python -m launch.preflight --config=configs/chen2021/cifar10_losses.py --topology=v5e:2x4

Expected after 100 epochs at batch 128, not run here: linear top-1 of 87.4 (nt_xent), 87.8
(decoupled_nt_xent), 86.3 (swd_normal), 85.1 (swd_hypercube), 87.0 (swd_hypersphere). The paper's
are single runs; its weight decay, warm-up and linear protocol are unstated, and those below are the
official code's, except that the probe is fitted to images without augmentation
(`config.evaluation.passes=5` fits it to five augmented views of each). bfloat16 is ours.
The sweep is the whole table, all batch sizes and lengths, at three seeds, one after another: the
first 80 runs are the paper's. All its numbers: results/chen2021/paper/table_a1.csv.
Time: not run here; the preflight prints what a slice needs at least. The arg 'smoke' (two steps of
a narrow ResNet-18 on the photographs of the extra `photographs`) takes under a minute on a laptop.
Data: `tfds build cifar10 --file_format=array_record`, 132 MiB.
"""

from ml_collections import ConfigDict

from configs.chen2021 import at_lengths, at_seeds, check_argument, five_losses, points_of

EXAMPLES, EPOCHS, WARMUP_EPOCHS = 50_000, 100, 10
BATCHES, LENGTHS = (128, 256, 512, 1024), (EPOCHS, 200, 400, 800)
LOSSES = five_losses(dimensions=64)


def get_config(arg=''):
    """The config; arg is one of LOSSES ('' is 'nt_xent'), or 'smoke', which is tiny."""
    check_argument(arg, LOSSES)
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
        name='resnet', depth=50, stem='cifar', dtype='bfloat16', head_layers=2, dimensions=64
    )
    config.loss = LOSSES[arg if arg in LOSSES else 'nt_xent']
    config.optimizer = dict(
        name='lars',
        learning_rate=0.2,
        scaling='square_root',
        warmup=EXAMPLES * WARMUP_EPOCHS // config.batch_size,
        weight_decay=1e-4,
    )
    config.evaluation = dict(name='sgd_probe', recipe='simclr_cifar')
    if arg == 'smoke':
        config.num_steps, config.batch_size, config.log_every = 2, 16, 1
        config.optimizer.warmup = 1
        config.data.source = 'photographs,size=32,count=10'
        config.model.update(depth=18, width=0.125, dtype='float32')
    return config


def sweep():
    """Table A.1: the five losses at four batch sizes and lengths; three seeds."""
    points = [{**loss, 'model.head_layers': 2} for loss in points_of(LOSSES)]
    return at_seeds(at_lengths(points, BATCHES, EXAMPLES, LENGTHS, WARMUP_EPOCHS))
