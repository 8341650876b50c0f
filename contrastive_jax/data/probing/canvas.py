"""Pictures laid onto a canvas, where they overlap by their maximum."""

import jax
import jax.numpy as jnp


def resized(picture, size):
    """A picture [h, w, c] as [size, size, c], bilinear without antialiasing."""
    if picture.shape[:2] == (size, size):
        return picture
    shape = (size, size, picture.shape[2])
    return jax.image.resize(picture, shape, method='linear', antialias=False)


def lay(canvas, pictures, places):
    """The canvas with pictures laid on it: the maximum of everything at each pixel.

    Args:
      canvas: [h, w, c] float32.
      pictures: [n, s, s, c] float32, s at most h and w.
      places: int32 [n, 2], row and column of each picture's upper left corner.

    Returns:
      [h, w, c] float32.
    """

    # One picture after another: mapped over a batch, a window that is written is several times
    # faster on a CPU than one that is gathered, or placed by a product with shifted identities.
    def one(number, canvas):
        corner = (places[number, 0], places[number, 1], jnp.int32(0))
        window = jax.lax.dynamic_slice(canvas, corner, pictures.shape[1:])
        return jax.lax.dynamic_update_slice(canvas, jnp.maximum(window, pictures[number]), corner)

    return jax.lax.fori_loop(0, pictures.shape[0], one, canvas)
