"""Training throughput: our step beside the same step in PyTorch, in one run.

python -m benchmarks.train

Both sides train the RandBit notebook's network with NT-Xent on two random crops of MNIST digits,
batch 256, Adam, data in memory, crops included: ours on the device, PyTorch's by torchvision, in
the process and in two DataLoader workers, of which the faster counts. PyTorch's side needs torch,
torchvision and lightly; without them ours is timed alone.
"""

import importlib.util

from benchmarks.timing import interleaved
from benchmarks.train_side import trainer
from configs.chen2021 import randbit_digits
from contrastive_jax import sharding
from contrastive_jax.data import sources
from contrastive_jax.models import convolution
from contrastive_jax.training.build import build
from experiments import cli

STEPS = 20  # in one timed call
ROUNDS = 7
BATCH = 256


def ours(form=None):
    """A function that trains STEPS steps; `form` forces one form of the convolution."""
    chosen = convolution.by_patches, convolution.by_convolution
    if form is not None:
        convolution.by_patches = convolution.by_convolution = form
    config = randbit_digits.get_config()
    config.batch_size = BATCH
    train = trainer(build(config, sharding.data_mesh(1)), STEPS)
    convolution.by_patches, convolution.by_convolution = chosen
    return train


def main():
    """Times every side and prints images a second and ratios."""
    sides = {
        'ours': ours(),
        'ours, convolution as lax.conv': ours(convolution.by_convolution),
    }
    peers = ('torch', 'torchvision', 'lightly')
    if all(importlib.util.find_spec(peer) for peer in peers):
        from benchmarks import pytorch_peer

        images = sources.open_source('digits', 'train').images

        for name, workers in (('crops in the process', 0), ('crops in 2 workers', 2)):
            sides[f'PyTorch, {name}'] = pytorch_peer.trainer(images, workers, STEPS, BATCH)
    else:
        print(f'PyTorch is left out: it needs {", ".join(peers)}.')
    times = interleaved(sides, ROUNDS)
    images = BATCH * STEPS
    print(f'{"":32} {"images/s, best":>15} {"median":>8} {"ours is":>9}')
    for name, (best, median) in times.items():
        ratio = median / times['ours'][1]
        print(f'{name:32} {images / best:15,.0f} {images / median:8,.0f} {ratio:8.2f}x')


if __name__ == '__main__':
    cli.use_large_pages()  # as every command does; PyTorch's side has them too
    main()
