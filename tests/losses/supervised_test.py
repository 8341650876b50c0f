"""Losses with labels: loops in float64, and supervised contrastive against its neighbours."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from contrastive_jax import losses
from contrastive_jax.losses.supervised import cross_entropy, multi_label, supcon

LABELS = np.array([2, 0, 2, 7, 0, 2, 5, 0, 2, 7])  # classes of 4, 3, 2 and 1 rows


def draw(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def numeric_gradient(function, point, step=1e-6):
    point = np.asarray(point, np.float64)
    gradient = np.zeros_like(point)
    for position in np.ndindex(*point.shape):
        move = np.zeros_like(point)
        move[position] = step
        gradient[position] = (function(point + move) - function(point - move)) / (2 * step)
    return gradient


def loop_supcon(z, labels, temperature):
    rows = np.asarray(z, np.float64)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    terms = []
    for i, row in enumerate(rows):
        logits = np.array([row @ (other / temperature) for other in rows])
        others = [j for j in range(len(rows)) if j != i]
        largest = max(logits[others])
        partition = largest + math.log(sum(math.exp(logits[j] - largest) for j in others))
        positives = [j for j in others if labels[j] == labels[i]]
        if positives:
            terms.append(-sum(logits[p] - partition for p in positives) / len(positives))
    return sum(terms) / len(terms)


@pytest.mark.parametrize(
    'temperature', [0.001, 0.1, 100.0, np.array([0.1, 0.2, 0.5, 1.0, 2.0], np.float32)]
)
def test_supcon_equals_the_loop_in_value_and_gradient(temperature):
    z, labels = draw(0, 10, 5), jnp.asarray(LABELS)

    def loss(z):
        return supcon(z, labels, temperature=temperature)[0]

    def reference(z):
        return loop_supcon(z, LABELS, temperature)

    value, gradient = jax.jit(jax.value_and_grad(loss))(z)
    np.testing.assert_allclose(value, reference(z), rtol=2e-6)
    expected = numeric_gradient(reference, z)
    # Float32 logits of 1 / tau carry 1e-7 / tau of rounding into the weights of the gradient.
    tolerance = max(3e-6, 2e-7 / np.min(temperature)) * np.abs(expected).max()
    np.testing.assert_allclose(gradient, expected, atol=tolerance)


def test_supcon_with_a_label_for_each_pair_is_nt_xent():
    z1, z2 = draw(0, 8, 6), draw(1, 8, 6)
    pairs = jnp.concatenate([jnp.arange(8), jnp.arange(8)])
    loss, parts = supcon(jnp.concatenate([z1, z2]), pairs, temperature=0.2)
    expected, expected_parts = losses.nt_xent(z1, z2, temperature=0.2)
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
    np.testing.assert_allclose(parts['alignment'], expected_parts['alignment'], rtol=1e-6)
    np.testing.assert_allclose(parts['alignment'] + parts['log_sum_exp'], loss, rtol=1e-6)


def test_supcon_closed_forms():
    """Identical rows give log of the candidates; classes on a simplex, the ideal class encoder."""
    labels = jnp.asarray(LABELS)
    same = supcon(jnp.ones((10, 3)), labels, temperature=0.1)[0]
    np.testing.assert_allclose(same, math.log(9), rtol=1e-6)
    ideal = supcon(jnp.eye(8)[labels], labels, temperature=0.02)[0]
    # Each anchor's softmax is uniform over the others of its class; 9 anchors have others.
    expected = (4 * math.log(3) + 3 * math.log(2) + 2 * math.log(1)) / 9
    np.testing.assert_allclose(ideal, expected, atol=1e-5)


@pytest.mark.parametrize('temperature', [0.001, 0.01])
def test_supcon_of_single_positives_keeps_the_digits_of_a_small_loss(temperature):
    """Pairs that are alike, all others at a cosine so that the terms are e^-5 to e^-20."""
    cosines = 1 - temperature * np.linspace(5, 20, 4)
    units = np.zeros((8, 5))
    for pair, cosine in enumerate(cosines):  # cosine to the first pair
        units[2 * pair : 2 * pair + 2, 0] = cosine if pair else 1
        units[2 * pair : 2 * pair + 2, pair + 1] = np.sqrt(1 - cosine**2) if pair else 0
    z, labels = jnp.asarray(units, jnp.float32), np.repeat(np.arange(4), 2)
    loss = supcon(z, jnp.asarray(labels), temperature=temperature)[0]
    expected = loop_supcon(z, labels, temperature)
    assert 1e-7 < expected < 1e-2
    # 1e-7 / tau is the rounding of a logit, and so the share of the loss.
    np.testing.assert_allclose(loss, expected, rtol=3e-7 / temperature)
    far = supcon(jnp.repeat(jnp.eye(4), 2, axis=0), jnp.asarray(labels), temperature=0.05)[0]
    np.testing.assert_allclose(far, math.log1p(6 * math.exp(-20)), rtol=1e-5)


def test_supcon_is_never_below_the_log_of_its_positives():
    """Classes that are points, far from each other: exactly the bound; and so 0 for pairs."""
    random = np.random.default_rng(0)
    for size in (2, 7):
        labels = np.repeat(np.arange(5), size)
        bound = np.float32(math.log(size - 1))
        for _ in range(5):
            z = random.normal(size=(5, 16))[labels].astype(np.float32)
            for temperature in (0.001, 0.01):
                loss = supcon(jnp.asarray(z), jnp.asarray(labels), temperature=temperature)[0]
                assert bound * np.float32(1 - 2e-7) <= loss <= bound + 1e-6 / temperature


def test_supcon_of_the_two_rows_of_one_label_is_zero():
    value, gradient = jax.value_and_grad(
        lambda z: supcon(z, jnp.zeros(2, jnp.int32), temperature=0.001)[0]
    )(draw(0, 2, 5))
    assert value == 0
    assert not np.any(gradient)


def test_supcon_depends_on_which_rows_share_a_label_and_not_on_its_name():
    z, labels = draw(0, 10, 5), jnp.asarray(LABELS)
    value = supcon(z, labels, temperature=0.1)[0]
    np.testing.assert_allclose(supcon(z, 100 - 3 * labels, temperature=0.1)[0], value, rtol=1e-6)
    order = np.random.default_rng(0).permutation(10)
    np.testing.assert_allclose(
        supcon(z[order], labels[order], temperature=0.1)[0], value, rtol=1e-6
    )
    tight = jnp.eye(8)[labels] + 0.1 * draw(1, 10, 8)
    good = supcon(tight, labels, temperature=0.1)[0]
    assert supcon(tight, jnp.roll(labels, 1), temperature=0.1)[0] > good + 1


def test_supcon_without_any_positive_is_zero_with_a_zero_gradient():
    value, gradient = jax.value_and_grad(lambda z: supcon(z, jnp.arange(10), temperature=0.1)[0])(
        draw(0, 10, 5)
    )
    assert value == 0
    assert not np.any(gradient)


@pytest.mark.parametrize('dtype', [jnp.bfloat16, jnp.float16])
def test_supcon_of_zero_and_huge_rows_is_finite_float32(dtype):
    z = jnp.ones((10, 5), dtype).at[1].set(0).at[4].set(6e4)
    value = supcon(z, jnp.asarray(LABELS), temperature=0.001)[0]
    assert value.dtype == jnp.float32
    assert np.isfinite(value)
    gradient = jax.grad(lambda z: supcon(z, jnp.asarray(LABELS), temperature=0.001)[0])(
        z.astype(jnp.float32)
    )
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize('in_context', [True, False])
def test_supcon_on_four_devices_is_supcon(in_context):
    z, labels = draw(0, 16, 5), jnp.asarray(np.random.default_rng(1).integers(0, 4, 16))

    def loss(z, labels):
        return supcon(z, labels, temperature=0.1)[0]

    value, gradient = jax.value_and_grad(loss)(z, labels)
    mesh = jax.make_mesh((4,), ('data',), axis_types=(AxisType.Auto,))
    rows = NamedSharding(mesh, PartitionSpec('data'))
    step = jax.jit(jax.value_and_grad(loss), in_shardings=(rows, rows))
    if in_context:
        with jax.set_mesh(mesh):
            many, many_gradient = step(z, labels)
    else:
        many, many_gradient = step(z, labels)
    np.testing.assert_allclose(many, value, atol=1e-6 * max(1, value))
    np.testing.assert_allclose(many_gradient, gradient, atol=1e-6 * jnp.abs(gradient).max())


def test_cross_entropy_equals_the_loop_in_value_and_gradient():
    logits, labels = 5 * draw(0, 7, 4), np.array([3, 0, 1, 1, 2, 3, 0])

    def reference(logits):
        return sum(
            math.log(sum(math.exp(value) for value in row)) - row[label]
            for row, label in zip(logits, labels, strict=True)
        ) / len(labels)

    def loss(logits):
        return cross_entropy(logits, jnp.asarray(labels))[0]

    value, gradient = jax.value_and_grad(loss)(logits)
    np.testing.assert_allclose(value, reference(np.asarray(logits, float)), rtol=1e-6)
    np.testing.assert_allclose(gradient, numeric_gradient(reference, logits), atol=1e-7)
    accuracy = cross_entropy(logits, jnp.asarray(labels))[1]['accuracy']
    np.testing.assert_allclose(accuracy, np.mean(np.argmax(logits, axis=1) == labels), rtol=1e-6)


def test_cross_entropy_leaves_out_labels_outside_the_classes():
    logits, labels = draw(0, 6, 4), jnp.asarray([3, -1, 1, 4, 2, 0])
    kept = np.array([0, 2, 4, 5])
    loss, parts = cross_entropy(logits, labels)
    expected, expected_parts = cross_entropy(logits[kept], labels[kept])
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
    np.testing.assert_allclose(parts['accuracy'], expected_parts['accuracy'], rtol=1e-6)
    assert cross_entropy(logits, jnp.full(6, -1))[0] == 0


def test_cross_entropy_with_labels_of_one_byte_and_more_classes_than_a_byte_counts():
    logits = draw(0, 3, 300).at[0, 5].set(9.0).at[1, 256 + 7].set(9.0)  # 263 is 7 in one byte
    labels = np.array([5, 7, 255], np.uint8)
    loss, parts = cross_entropy(logits, labels)
    np.testing.assert_allclose(loss, cross_entropy(logits, labels.astype(np.int32))[0], rtol=0)
    assert parts['accuracy'] == np.float32(1 / 3)


def test_cross_entropy_closed_forms_and_extremes():
    assert cross_entropy(jnp.zeros((3, 10)), jnp.zeros(3, int))[0] == np.float32(math.log(10))
    huge = jnp.zeros((2, 3), jnp.bfloat16).at[0, 1].set(1e30)
    loss = cross_entropy(huge, jnp.asarray([1, 2]))[0]
    np.testing.assert_allclose(loss, math.log(3) / 2, rtol=1e-6)
    assert loss.dtype == jnp.float32


def test_multi_label_equals_the_loop_in_value_and_gradient():
    logits = 3 * draw(0, 5, 4)
    labels = np.random.default_rng(1).integers(0, 2, (5, 4))

    def reference(logits):
        probability = 1 / (1 + np.exp(-logits))
        likelihood = np.where(labels == 1, probability, 1 - probability)
        return -np.mean(np.log(likelihood))

    def loss(logits):
        return multi_label(logits, jnp.asarray(labels))[0]

    value, gradient = jax.value_and_grad(loss)(logits)
    np.testing.assert_allclose(value, reference(np.asarray(logits, float)), rtol=1e-6)
    np.testing.assert_allclose(gradient, numeric_gradient(reference, logits), atol=1e-7)
    accuracy = multi_label(logits, jnp.asarray(labels))[1]['accuracy']
    np.testing.assert_allclose(accuracy, np.mean((np.asarray(logits) > 0) == (labels == 1)))


def test_multi_label_is_log_2_at_zero_and_finite_far_out():
    labels = jnp.asarray([[0, 1], [1, 0]])
    np.testing.assert_allclose(multi_label(jnp.zeros((2, 2)), labels)[0], math.log(2), rtol=1e-6)
    far = jnp.asarray([[-1e30, 1e30], [1e30, -1e30]], jnp.bfloat16)
    assert multi_label(far, labels)[0] == 0
    assert np.isfinite(multi_label(-far, labels)[0])


def test_bad_input_names_the_field():
    rows, labels = jnp.ones((4, 3)), jnp.arange(4)
    with pytest.raises(ValueError, match=r'labels must be 4 integers'):
        supcon(rows, labels[:3], temperature=0.1)
    with pytest.raises(ValueError, match=r'labels must be 4 integers, one a row, got float32'):
        cross_entropy(rows, jnp.ones(4))
    with pytest.raises(ValueError, match=r'z must be \[n, d\] with n >= 2'):
        supcon(rows[:1], labels[:1], temperature=0.1)
    with pytest.raises(ValueError, match=r'temperature must be positive, got 0'):
        supcon(rows, labels, temperature=0)
    with pytest.raises(ValueError, match=r'logits and labels must be'):
        multi_label(rows, labels)
    with pytest.raises(ValueError, match=r'logits must be \[n, c\]'):
        cross_entropy(jnp.ones(4), labels)
