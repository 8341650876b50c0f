"""Colour jitter and greyscale, on images of 3 channels (red, green, blue) or 1 (grey).

The arithmetic of colour is our own because dm_pix's (0.4.5) does not survive compilation. It agrees
with the reference to 2e-6 when called alone, but finds the largest channel by `value == red`: in a
compiled view, where that channel may be rounded anew, `python -m benchmarks.colours` finds values
of `jitter` up to 0.85 off on a CPU. It is 2 to 3 times slower besides.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax.views.operations import Operation, check_number, check_probability

# The four operations of the jitter, and the orders in which a view may apply them.
BRIGHTNESS, CONTRAST, SATURATION, HUE = range(4)
ORDERS = np.array(list(itertools.permutations(range(4))), np.int32)

# Of red, green and blue, as in TensorFlow's rgb_to_grayscale.
GREY_WEIGHTS = (0.2989, 0.587, 0.114)


def random_jitter(
    *,
    brightness=0.8,
    contrast=0.8,
    saturation=0.8,
    hue=0.2,
    additive_brightness=False,
    probability=0.8,
):
    """The operation that changes brightness, contrast, saturation and hue, in random order.

    Each draws its own number, u uniform on [-1, 1]: brightness multiplies by 1 + brightness * u;
    contrast multiplies the distance from each channel's mean over the image, saturation that of
    HSV, likewise; hue adds hue * u turns. The image is clipped to [0, 1] after each. All 24 orders
    are equally likely. On images of 1 channel saturation and hue do nothing.

    Args:
      brightness: strength, in [0, 1].
      contrast: strength, in [0, 1].
      saturation: strength, in [0, 1].
      hue: strength in turns of the colour circle, in [0, 0.5].
      additive_brightness: add brightness * u instead of multiplying, as SimCLR's first version did.
      probability: of a jittered image.

    Returns:
      An operation with the parameters `jittered`, `brightness`, `contrast`, `saturation` (factors;
      a shift with additive brightness), `hue` (turns) and `order` (index of `ORDERS`).

    Raises:
      ValueError: a strength outside its range, or an image of neither 1 nor 3 channels.

    Source: Chen et al. 2020 (SimCLR), appendix A, with the four strengths 0.8 s, 0.8 s, 0.8 s and
    0.2 s; the order, the clipping and the multiplicative brightness are those of its code.
    """
    strengths = dict(brightness=brightness, contrast=contrast, saturation=saturation, hue=hue)
    for name, strength in strengths.items():
        check_number(name, strength, 0, 0.5 if name == 'hue' else 1)
    if not isinstance(additive_brightness, bool):
        raise ValueError(f'additive_brightness is {additive_brightness!r}, not True or False.')
    check_probability('jitter_probability', probability)
    neutral = np.array([0.0 if additive_brightness else 1.0, 1.0, 1.0, 0.0], np.float32)
    widths = np.array(list(strengths.values()), np.float32)

    def sample(key, shape):
        check_channels(shape)
        draws = jax.random.uniform(key, (6,))
        jittered = draws[5] < probability
        drawn = jnp.where(jittered, neutral + widths * (2.0 * draws[:4] - 1.0), neutral)
        order = jnp.minimum((draws[4] * len(ORDERS)).astype(jnp.int32), len(ORDERS) - 1)
        return {**dict(zip(strengths, drawn, strict=True)), 'order': order, 'jittered': jittered}

    def apply(image, parameters):
        numbers = [parameters[name] for name in strengths]
        order = jnp.asarray(ORDERS)[parameters['order']]
        jittered = adjust_in_order(image, *numbers, order, additive_brightness)
        return jnp.where(parameters['jittered'], jittered, image)

    return Operation(apply=apply, sample=sample)


def adjust_in_order(image, brightness, contrast, saturation, hue, order, additive_brightness=False):
    """The image after the four operations in the given order, clipped to [0, 1] after each.

    Args:
      image: [h, w, 3] or [h, w, 1] float32.
      brightness: factor; or shift, if `additive_brightness`.
      contrast: factor.
      saturation: factor.
      hue: shift in turns.
      order: [4] int32, a permutation of BRIGHTNESS, CONTRAST, SATURATION, HUE; may be traced.
      additive_brightness: what `brightness` is.

    Returns:
      An image of the same shape, in [0, 1].
    """
    # Mapped over a batch, a branch on the order would run all four operations in all four places.
    # But in every order saturation and hue divide the rest in three stages, and brightness and
    # contrast each fall into one of them: two changes of colour suffice, of either kind.
    place = jnp.argmax(order[None, :] == jnp.arange(4)[:, None], axis=1)
    stage = [
        sum((place[kind] > place[colour]).astype(jnp.int32) for colour in (SATURATION, HUE))
        for kind in (BRIGHTNESS, CONTRAST)
    ]
    brightness_first = place[BRIGHTNESS] < place[CONTRAST]

    def brighten(image, here):
        changed = image + brightness if additive_brightness else image * brightness
        return jnp.where(here, jnp.clip(changed, 0.0, 1.0), image)

    image = jnp.moveaxis(image, -1, 0)
    for at in range(3):
        brighten_here, contrast_here = stage[BRIGHTNESS] == at, stage[CONTRAST] == at
        image = brighten(image, brighten_here & (brightness_first | ~contrast_here))
        mean = jnp.mean(image, axis=(1, 2), keepdims=True)
        stretched = jnp.clip(contrast * image + (1.0 - contrast) * mean, 0.0, 1.0)
        image = jnp.where(contrast_here, stretched, image)
        image = brighten(image, brighten_here & ~brightness_first & contrast_here)
        if at < 2 and len(image) == 3:
            turn = (place[HUE] < place[SATURATION]) == (at == 0)
            image = jnp.clip(adjust_colour(image, saturation, hue, turn), 0.0, 1.0)
    return jnp.moveaxis(image, 0, -1)


def adjust_colour(image, saturation, hue, turn):
    """Multiplies the saturation, or turns the hue, of an image.

    Value is the largest channel, spread its distance to the smallest, saturation spread / value. A
    factor on the saturation, up to saturation 1, is a factor on the spread up to value.

    Args:
      image: [3, h, w] float32, red, green and blue, which may be outside [0, 1].
      saturation: the factor, used unless `turn`.
      hue: the shift in turns, used if `turn`.
      turn: scalar bool, which may be traced.

    Returns:
      [3, h, w] float32.
    """
    red, green, blue = image[0], image[1], image[2]
    value = jnp.maximum(jnp.maximum(red, green), blue)
    spread = value - jnp.minimum(jnp.minimum(red, green), blue)
    # A grey pixel has any hue: it divides by 1.
    per_spread = 1.0 / jnp.where(spread > 0.0, spread, 1.0)
    # The hue in sixths of a turn. The largest channel is found by comparison with the others, not
    # with `value`: compiled code may round that anew, and then no channel equals it.
    angle = jnp.where(
        (red >= green) & (red >= blue),
        (green - blue) * per_spread,
        jnp.where(green >= blue, (blue - red) * per_spread + 2.0, (red - green) * per_spread + 4.0),
    )
    angle = angle + jnp.where(turn, 6.0 * hue, 0.0)
    limit = jnp.maximum(value, 0.0)
    spread = jnp.where(turn, spread, jnp.minimum(saturation * spread, limit))
    # Red is least opposite to 0, green to 2, blue to 4; a slope lasts one sixth.
    distance = angle[None] + np.array([5.0, 3.0, 1.0], np.float32)[:, None, None]
    distance = distance - 6.0 * jnp.floor(distance / 6.0)
    return value[None] - spread[None] * jnp.clip(jnp.minimum(distance, 4.0 - distance), 0.0, 1.0)


def random_grey(*, probability=0.2):
    """The operation that replaces all channels by the grey image.

    Args:
      probability: of a grey image. On images of 1 channel it does nothing.

    Returns:
      An operation with the parameter `grey`.

    Raises:
      ValueError: no probability, or an image of neither 1 nor 3 channels.

    Source: Chen et al. 2020 (SimCLR), appendix A; weights 0.2989, 0.587, 0.114.
    """
    check_probability('grey_probability', probability)

    def sample(key, shape):
        check_channels(shape)
        return {'grey': jax.random.bernoulli(key, probability)}

    def apply(image, parameters):
        if image.shape[-1] == 1:
            return image
        shades = sum(
            np.float32(weight) * image[..., channel] for channel, weight in enumerate(GREY_WEIGHTS)
        )
        return jnp.where(parameters['grey'], shades[..., None], image)

    return Operation(apply=apply, sample=sample)


def check_channels(shape):
    """Raises ValueError unless an image of this shape is grey or has three colours."""
    if shape[-1] not in (1, 3):
        raise ValueError(
            f'image has {shape[-1]} channels; operations on colour take 3 (red, green, blue) or 1.'
        )
