"""The statistics of claims 10 and 11 on made-up rows: which rows and columns they compare."""

import pytest

from configs.chen2021 import colour_cifar10_laptop, colour_laptop, local_features_laptop
from experiments.chen2021.claims import colour, local_features


def test_the_agreement_is_of_the_last_maps_of_simclr_against_pixels_and_the_untrained():
    columns = ('agreement_8_pixels', 'agreement_8_block_group_1', 'agreement_8_block_group_3')
    rows = [
        {'loss': loss, 'steps': steps, 'seed': 0}
        | dict(zip(columns, (0.25, 0.9, deepest), strict=True))
        for loss, steps, deepest in (
            (local_features_laptop.SIMCLR, 500, 0.75),
            (local_features_laptop.SUPERVISED, 500, 0.0),
            (local_features_laptop.SIMCLR, 0, 0.375),
        )
    ]
    found = {claim.id: claim.of_seed(rows) for claim in local_features.CLAIMS}
    assert found == {'10a': pytest.approx(0.5), '10b': pytest.approx(0.375)}


@pytest.mark.parametrize(
    ('place', 'config', 'metric', 'sign'),
    [(0, colour_laptop, 'colour_r2', -1), (1, colour_cifar10_laptop, 'test_accuracy', 1)],
)
def test_colour_claims_compare_with_and_without_jitter(place, config, metric, sign):
    claim = colour.CLAIMS[place]
    views = [point['views'] for point in config.sweep() if point['seed'] == 0]
    # A probe that gains 0.1 with every step of jitter, whichever direction is claimed.
    levels = {view: 0.5 + sign * 0.1 * strength for strength, view in enumerate(views)}
    rows = [{'views': view, 'seed': 0, metric: level} for view, level in levels.items()]
    assert claim.of_seed(rows) == pytest.approx(sign * 0.1 * views.index(colour.WITH))
    assert (claim.direction, claim.threshold) == ('above' if sign > 0 else 'below', 0.0)
