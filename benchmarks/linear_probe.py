"""Seconds of one linear probe: 4,000 x 128 features of an untrained network on MNIST digits.

python -m benchmarks.linear_probe
"""

import jax

from benchmarks.timing import interleaved
from configs.chen2021 import randbit_digits
from contrastive_jax.evaluation import linear_probe
from contrastive_jax.training.build import build
from contrastive_jax.training.evaluate import Evaluator

ROUNDS = 5


def main():
    """Embeds both splits, times the probe and prints what it found."""
    experiment = build(randbit_digits.get_config())
    variables = experiment.init_state(experiment.seed_key).variables
    with jax.set_mesh(experiment.mesh):
        train, test = (Evaluator(experiment).embed(variables, name) for name in ('train', 'test'))
    found = {}

    def probe():
        found.update(
            linear_probe(train['embeddings'], train['labels'], test['embeddings'], test['labels'])
        )

    best, median = interleaved({'probe': probe}, ROUNDS)['probe']
    print(f'{train["embeddings"].shape}: best {best:.2f} s, median {median:.2f} s, {found}')


if __name__ == '__main__':
    main()
