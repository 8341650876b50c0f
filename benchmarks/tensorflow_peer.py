"""The RandBit notebook, from a description: tf.data, Keras layers, one tf.function.

It runs in a process of its own, with any Python that has TensorFlow, and imports nothing of ours
but the clock:

python -m benchmarks.tensorflow_peer digits.npz bits batch steps [compile]
python -m benchmarks.tensorflow_peer accuracy digits.npz bits batch temperature seed

Source: Chen 2021, the official RandBit notebook; written from a description of what it does.
"""

import functools
import sys

import keras
import numpy as np
import tensorflow as tf

from benchmarks.timing import serve

SIDE, TEMPERATURE, DECAY = 28, 0.05, 1e-4  # the temperature that is timed
STEPS_OF_RUN = 600


def crop(image):
    """A random crop of at least half of the image, resized bilinearly."""
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.shape(image),
        tf.constant([[[0.0, 0.0, 1.0, 1.0]]]),
        min_object_covered=0.1,
        aspect_ratio_range=(3 / 4, 4 / 3),
        area_range=(0.5, 1.0),
        max_attempts=100,
        use_image_if_no_bounding_boxes=True,
    )
    return tf.image.resize(tf.slice(image, begin, size), (SIDE, SIDE), method='bilinear')


def example(image, label, *, bits):
    """Two views [28, 28, 1 + bits] of one image."""
    pixels = tf.cast(image, tf.float32) / 255.0
    views = [tf.ensure_shape(crop(pixels), (SIDE, SIDE, 1)) for _ in range(2)]
    return *with_bits(image, views, bits), label


def with_bits(image, views, bits):
    """Views of one image with the bits of a hash of it encoded as JPEG."""
    if not bits:
        return views
    code = tf.strings.to_hash_bucket_fast(tf.io.encode_jpeg(image), 2**bits)
    code = tf.bitwise.right_shift(code, tf.range(bits, dtype=tf.int64)) % 2
    channels = tf.broadcast_to(tf.cast(code, tf.float32), (SIDE, SIDE, bits))
    return [tf.concat([view, channels], axis=-1) for view in views]


def batches(images, labels, bits, batch):
    """An endless tf.data pipeline, in the order of the images, as parallel as it likes."""
    return iter(
        tf.data.Dataset.from_tensor_slices((images, labels))
        .repeat()
        .map(functools.partial(example, bits=bits), num_parallel_calls=tf.data.AUTOTUNE)
        .batch(batch, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )


def normalised(layer):
    """A layer without bias, batch norm with Keras's defaults, ReLU."""
    return [layer, keras.layers.BatchNormalization(), keras.layers.ReLU()]


def networks(channels):
    """Encoder, head and classifier."""
    layers = keras.layers
    encoder = [keras.Input((SIDE, SIDE, channels))]
    for width in (32, 64, 64):
        encoder += normalised(layers.Conv2D(width, 3, strides=2, use_bias=False))
    encoder += [layers.Flatten(), *normalised(layers.Dense(128, use_bias=False))]
    head = [*normalised(layers.Dense(256, use_bias=False)), layers.Dense(64, use_bias=False)]
    return (
        keras.Sequential(encoder),
        keras.Sequential([keras.Input((128,)), *head]),
        keras.Sequential([keras.Input((128,)), layers.Dense(10)]),
    )


def train_step_of(models, temperature=TEMPERATURE, compiled=False):
    """The function (first views, second views, labels) -> loss that takes one step of Adam."""
    encoder, head, classifier = models
    weights = [weight for model in models for weight in model.trainable_variables]
    kernels = [
        weight for model in (encoder, head) for weight in model.trainable_variables
        if weight.name == 'kernel'
    ]  # fmt: skip
    optimizer = keras.optimizers.Adam(
        keras.optimizers.schedules.PolynomialDecay(1e-3, STEPS_OF_RUN, 0.0)
    )
    optimizer.build(weights)

    def entropy(labels, logits):
        terms = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return tf.reduce_mean(terms)

    @tf.function(jit_compile=compiled)
    def step(first, second, labels):
        with tf.GradientTape() as tape:
            features = [encoder(view, training=True) for view in (first, second)]
            a, b = (tf.math.l2_normalize(head(rows, training=True), axis=1) for rows in features)
            logits = tf.matmul(a, b, transpose_b=True) / temperature
            own = tf.range(tf.shape(logits)[0])
            loss = entropy(own, logits) + entropy(own, tf.transpose(logits))
            loss += entropy(labels, classifier(tf.stop_gradient(features[0]), training=True))
            loss += DECAY * tf.add_n([tf.reduce_sum(tf.square(kernel)) for kernel in kernels])
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    return step


def main(path, bits, batch, steps, form=''):
    """Serves calls of `steps` steps each."""
    data = np.load(path)
    bits, batch, steps = int(bits), int(batch), int(steps)
    feed = batches(data['images'], data['labels'], bits, batch)
    step = train_step_of(networks(1 + bits), compiled=form == 'compile')

    def train():
        for _ in range(steps):
            loss = step(*next(feed))
        loss.numpy()  # waits for the last step

    serve(train)


def print_accuracy(path, bits, batch, temperature, seed):
    """Trains as long as the notebook does and prints the online classifier's test accuracy."""
    keras.utils.set_random_seed(int(seed))
    data, bits = np.load(path), int(bits)
    models = encoder, _, classifier = networks(1 + bits)
    step = train_step_of(models, float(temperature))
    feed = batches(data['images'], data['labels'], bits, int(batch))
    for _ in range(STEPS_OF_RUN - 1):  # the notebook counts from 1
        step(*next(feed))
    test = tf.data.Dataset.from_tensor_slices(data['test_images']).map(
        lambda image: with_bits(image, [tf.cast(image, tf.float32) / 255.0], bits)[0]
    )
    logits = [classifier(encoder(views, training=False)) for views in test.batch(1000)]
    print(np.mean(np.argmax(np.concatenate(logits), axis=1) == data['test_labels']))


if __name__ == '__main__':
    if sys.argv[1] == 'accuracy':
        print_accuracy(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
