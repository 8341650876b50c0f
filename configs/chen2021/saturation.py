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

from configs.chen2021 import at_batches, at_seeds, cifar10_losses, of_epochs
from configs.chen2021 import saturation_laptop as laptop

EXAMPLES, EPOCHS, WARMUP_EPOCHS = 50_000, 400, 10
BATCHES, BITS = (128, 512, 2048), range(1, 15)


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    if arg not in ('', 'smoke'):
        raise ValueError(f"the config's argument is {arg!r}, not one of: '', 'smoke'.")
    config, small = cifar10_losses.get_config(arg), laptop.get_config()
    config.data = dict(small.data, source=f'synthetic:{64 if arg else EXAMPLES}', size=32)
    config.views, config.loss, config.evaluation = small.views, small.loss, small.evaluation
    if not arg:
        config.model.depth, config.log_every = 18, 50
        run = of_epochs(EXAMPLES, EPOCHS, WARMUP_EPOCHS, 512)
        config.update_from_flattened_dict(run)
    return config


def sweep():
    """Bits by batch and temperature, and by batch and prior of the sliced form; three seeds."""
    terms = [('uniform_hypersphere', 'log_sum_exp', tau) for tau in laptop.SATURATED]
    terms += [
        (prior, 'sliced_wasserstein', None)
        for prior in ('uniform_hypersphere', 'uniform_hypercube', 'normal')
    ]
    points = [
        {
            'loss.prior': prior,
            'loss.distribution': distribution,
            'loss.temperature': temperature,
            'data.num_bits': bits,
        }
        for prior, distribution, temperature in terms
        for bits in BITS
    ]
    return at_seeds(at_batches(points, BATCHES, EXAMPLES, EPOCHS, WARMUP_EPOCHS))


figure = laptop.figure
