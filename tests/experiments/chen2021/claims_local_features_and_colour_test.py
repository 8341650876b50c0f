"""The statistics of claims 10 and 11 on made-up rows: which rows and columns they compare."""

import pytest

from configs.chen2021 import colour_cifar10_laptop, colour_laptop, local_features_laptop
from experiments.chen2021.claims import colour, local_features


def test_the_agreement_is_of_the_last_maps_of_simclr_against_pixels_and_the_untrained():
    simclr, supervised, before = [
        point for point in local_features_laptop.sweep() if point['seed'] == 0
    ]
    deepest = {'agreement_8_block_group_3': 0.75}
    other = {'agreement_8_block_group_1': 0.9, 'agreement_4_block_group_3': 0.8}
    other |= {'agreement_4_pixels': 0.7}
    # The pixels of the other two rows are no run of SimCLR's.
    rows = [
        {**before, **other, 'agreement_8_pixels': 0.6, 'agreement_8_block_group_3': 0.375},
        {**supervised, **other, 'agreement_8_pixels': 0.5, 'agreement_8_block_group_3': 0.0},
        {**simclr, **other, 'agreement_8_pixels': 0.25, **deepest},
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
