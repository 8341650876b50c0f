"""Batches: batch k is a function of source, seed and k, whatever the hosts."""

import numpy as np
import pytest
from scipy import stats

from contrastive_jax.data import batches, sources
from contrastive_jax.errors import BadInput


def source_of(count):
    images = np.arange(count, dtype=np.uint8).reshape(count, 1, 1, 1)
    return sources.ArraySource(images, np.arange(count) % 3, num_classes=3)


def test_each_epoch_is_a_permutation_without_the_remainder():
    order = batches.train_batches(source_of(23), seed=0, batch_size=5)
    epochs = [np.concatenate([order[4 * e + k]['id'] for k in range(4)]) for e in range(3)]
    for epoch in epochs:
        assert len(set(epoch.tolist())) == 20
    assert not np.array_equal(epochs[0], epochs[1])
    assert not np.array_equal(epochs[1], epochs[2])


def test_without_shuffling_every_epoch_has_the_order_of_the_source():
    order = batches.train_batches(source_of(10), seed=3, batch_size=4, shuffle=False)
    ids = [order[k]['id'].tolist() for k in range(4)]
    assert ids == [[0, 1, 2, 3], [4, 5, 6, 7]] * 2


def test_over_many_epochs_every_example_is_seen():
    order = batches.train_batches(source_of(23), seed=0, batch_size=5)
    seen = {i for k in range(40) for i in order[k]['id'].tolist()}
    assert seen == set(range(23))


def test_batch_k_does_not_depend_on_what_was_read_before():
    order = batches.train_batches(source_of(23), seed=3, batch_size=4)
    alone = batches.train_batches(source_of(23), seed=3, batch_size=4)[17]
    walked = [order[k] for k in range(18)][-1]
    for name in alone:
        np.testing.assert_array_equal(alone[name], walked[name])


def test_iterating_from_a_step_gives_the_batches_of_that_step_on():
    order = batches.train_batches(source_of(23), seed=3, batch_size=4)
    feed = batches.iterate({'': order}, 9)
    for k in range(9, 15):
        np.testing.assert_array_equal(next(feed)['id'], order[k]['id'])


def test_seeds_give_different_orders():
    first, second = (batches.train_batches(source_of(64), seed=s, batch_size=32) for s in (0, 1))
    assert not np.array_equal(first[0]['id'], second[0]['id'])


def test_images_and_labels_belong_to_their_ids():
    batch = batches.train_batches(source_of(23), seed=0, batch_size=5)[3]
    np.testing.assert_array_equal(batch['image'][:, 0, 0, 0], batch['id'])
    np.testing.assert_array_equal(batch['label'], batch['id'] % 3)


@pytest.mark.parametrize('hosts', [2, 4])
def test_hosts_share_the_rows_of_the_same_global_batch(hosts):
    whole = batches.train_batches(source_of(23), seed=0, batch_size=8)
    shares = [
        batches.train_batches(source_of(23), seed=0, batch_size=8, host=host, num_hosts=hosts)
        for host in range(hosts)
    ]
    for k in (0, 1, 5):
        together = np.concatenate([share[k]['id'] for share in shares])
        np.testing.assert_array_equal(together, whole[k]['id'])


@pytest.mark.parametrize(('count', 'size'), [(23, 5), (20, 5), (3, 8), (1, 1)])
@pytest.mark.parametrize('hosts', [1, 2])
def test_evaluation_counts_every_example_exactly_once(count, size, hosts):
    size *= hosts
    counted = np.zeros(count)
    for host in range(hosts):
        for batch in batches.evaluation_batches(
            source_of(count), batch_size=size, host=host, num_hosts=hosts
        ):
            assert len(batch['id']) == size // hosts
            np.add.at(counted, batch['id'], batch['weight'])
    np.testing.assert_array_equal(counted, np.ones(count))


def test_a_row_of_another_class_is_replaced_by_its_own_example():
    source, classes = source_of(6), np.array([0, 0, 1, 1, 2, 2])
    rows, others = source.take(np.array([0, 2, 4])), source.take(np.array([1, 4, 5]))
    batch = batches.paired_by_class(rows, others, classes, lambda: rows)
    np.testing.assert_array_equal(batch['partner_id'], [1, 2, 5])
    np.testing.assert_array_equal(batch['partner_image'].ravel(), [1, 2, 5])
    np.testing.assert_array_equal(batch['partner_label'], np.array([1, 2, 5]) % 3)
    for name in rows:
        np.testing.assert_array_equal(batch[name], rows[name])


def test_a_batch_larger_than_the_source_is_refused():
    with pytest.raises(BadInput, match='config.batch_size is 24; arrays has 23 examples'):
        batches.train_batches(source_of(23), seed=0, batch_size=24)


def test_a_batch_that_the_hosts_do_not_divide_is_refused():
    with pytest.raises(BadInput, match='config.batch_size is 5, which 2 hosts'):
        batches.train_batches(source_of(23), seed=0, batch_size=5, num_hosts=2)


def test_partners_are_other_examples_of_the_class_drawn_uniformly():
    classes = np.array([0, 1, 0, 1, 0, 2, 0])
    order = batches.train_batches(source_of(7), seed=0, batch_size=7, classes=classes)
    pairs = np.zeros((7, 7), int)
    for k in range(300):
        batch = order[k]
        np.testing.assert_array_equal(batch['partner_image'][:, 0, 0, 0], batch['partner_id'])
        np.add.at(pairs, (batch['id'], batch['partner_id']), 1)
    expected = (classes[:, None] == classes) & ~np.eye(7, dtype=bool)
    expected[5, 5] = True  # alone in its class
    np.testing.assert_array_equal(pairs > 0, expected)
    for row in pairs[::2]:
        assert stats.chisquare(row[row > 0]).pvalue > 1e-3


def test_partners_do_not_depend_on_hosts_or_on_what_was_read_before():
    classes = np.arange(23) % 3
    whole = batches.train_batches(source_of(23), seed=3, batch_size=6, classes=classes)[11]
    shares = [
        batches.train_batches(
            source_of(23), seed=3, batch_size=6, classes=classes, host=host, num_hosts=2
        )[11]
        for host in range(2)
    ]
    for name in whole:
        np.testing.assert_array_equal(np.concatenate([s[name] for s in shares]), whole[name])
    later = batches.train_batches(source_of(23), seed=3, batch_size=6, classes=classes)[14]
    assert not np.array_equal(later['partner_id'], whole['partner_id'])
