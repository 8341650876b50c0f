"""The statistics of claim 8, on rows whose answers are known."""

import pytest

from configs.chen2021 import digit_on_image_ablation_laptop, digit_on_image_laptop
from experiments.chen2021.claims.digit_on_image import CLAIMS

OF = {claim.id: claim.of_seed for claim in CLAIMS}


def test_orders_and_the_supervised_change():
    rows = []
    for point in digit_on_image_laptop.sweep()[::-1]:  # whatever the order of the rows
        if point['seed']:
            continue
        number = digit_on_image_laptop.NUMBERS.index(point['data.num_unique'])
        hot = point['loss'] == 'nt_xent,temperature=0.2'
        rows.append(
            point
            | {
                'test_accuracy': 0.1 + 0.2 * number,
                'test_accuracy_all_digits': 0.8 - 0.1 * number if hot else 0.5 + 0.1 * number,
                'test_accuracy_object': 0.9 - 0.002 * number**2,
            }
        )
    assert OF['8a'](rows) == pytest.approx(1)
    assert OF['8b'](rows) == pytest.approx(0)  # rises at one temperature, falls at the other
    assert OF['8c'](rows) == pytest.approx(-1)
    assert OF['8d'](rows) == pytest.approx(-0.018)


# Trades of .1, .3, .4 and .6, .35 on average; and none at all, which is not below 0.
@pytest.mark.parametrize(
    ('gains', 'expected'), [((0.1, 0.2, 0.3), 0.5 - 0.35 / 4), ((0.0, 0.0, 0.0), 0.0)]
)
def test_what_settings_trade(gains, expected):
    start, of_batch, of_head = gains
    rows = []
    for point in digit_on_image_ablation_laptop.sweep():
        deep = point['model.head_widths'] == digit_on_image_ablation_laptop.HEADS[3]
        most = point['data.num_unique'] == digit_on_image_ablation_laptop.NUMBERS[1]
        trade = most * (start + of_batch * (point['batch_size'] == 128) + of_head * deep)
        accuracies = {'test_accuracy': 0.1 + trade / 2, 'test_accuracy_object': 0.9 - trade / 2}
        if not point['seed']:
            rows.append(point | accuracies)
    assert OF['8e'](rows) == pytest.approx(expected)
