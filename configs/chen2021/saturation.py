r"""Codes of k bits saturate the distribution term (Chen 2021, Fig. B.3).

python -m experiments.sweep --config=configs/chen2021/saturation.py --workdir=...
python -m experiments.train --config=configs/chen2021/saturation.py --workdir=...
python -m launch.preflight --config=configs/chen2021/saturation.py --topology=v5e:2x4

Images of 32 x 32 pixels, k binary channels that are constant over the image, no augmentation, one
view; ResNet-18, a head of 2 layers to d = 64, 400 epochs, the distribution term alone. Unstated in
the paper, and taken here as for its CIFAR-10 runs: 50,000 examples, LARS of rate 0.2 sqrt(batch),
weight decay and warm-up of the official code, the batches and temperatures.
Expected: the final loss stops falling after a few bits: after about 5 of the sphere's LogSumExp at
temperature 0.5 and 4 at 1 whatever the batch, later at 0.05, by one bit or less a doubling of the
batch. (`contrastive_jax.evaluation.log_sum_exp_of_codes`; the paper's curves have no numbers.)
Time: not run here; the preflight prints what a slice needs at least. Data: none.
"""

from ml_collections import ConfigDict

from configs.chen2021 import saturation_laptop as laptop

EXAMPLES, EPOCHS, WARMUP_EPOCHS = 50_000, 400, 10
BATCHES, BITS = (128, 512, 2048), (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14)


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = ConfigDict()
    config.seed = 0
    config.batch_size = 512
    config.num_steps = EXAMPLES * EPOCHS // config.batch_size + 1
    config.log_every = 50
    config.checkpoint_every = 2000
    config.evaluate_every = 0
    config.data = dict(
        source=f'synthetic:{EXAMPLES}', data_dir='', probing='k_bit_images', num_bits=8, size=32
    )
    config.views = dict(name='none')
    config.model = dict(
        name='resnet', depth=18, stem='cifar', dtype='bfloat16', head_layers=2, dimensions=64
    )
    config.loss = dict(
        name='distribution_matching',
        prior='uniform_hypersphere',
        distribution='log_sum_exp',
        temperature=0.05,
    )
    config.optimizer = dict(
        name='lars',
        learning_rate=0.2,
        scaling='square_root',
        warmup=WARMUP_EPOCHS / EPOCHS,
        weight_decay=1e-4,
    )
    config.evaluation = dict(name='knn', k=1, factor='code')
    if arg == 'smoke':
        config.num_steps, config.batch_size, config.log_every = 2, 16, 1
        config.data.source = 'synthetic:64'
        config.model.update(width=0.125, dtype='float32')
    elif arg:
        raise ValueError(f"the config's argument is {arg!r}, not one of: '', 'smoke'.")
    return config


def sweep():
    """Bits by batch and temperature, and by batch and prior of the sliced form."""
    terms = [('uniform_hypersphere', 'log_sum_exp', tau) for tau in laptop.SATURATED]
    terms += [
        (prior, 'sliced_wasserstein', None)
        for prior in ('uniform_hypersphere', 'uniform_hypercube', 'normal')
    ]
    return [
        {
            'loss.prior': prior,
            'loss.distribution': distribution,
            'loss.temperature': temperature,
            'batch_size': batch,
            'num_steps': EXAMPLES * EPOCHS // batch + 1,
            'data.num_bits': bits,
        }
        for prior, distribution, temperature in terms
        for batch in BATCHES
        for bits in BITS
    ]


figure = laptop.figure
