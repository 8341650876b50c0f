"""Resizing a box: both forms, against the library's resize of the box cut out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.views import resize

FORMS = [resize.resize_by_product, resize.resize_by_gather]


@pytest.fixture(scope='module')
def image():
    return jnp.asarray(np.random.default_rng(0).uniform(size=(28, 20, 3)), jnp.float32)


BOXES = [(0, 0, 28, 20), (3, 5, 9, 7), (0, 13, 1, 7), (27, 19, 1, 1), (11, 0, 17, 20)]


@pytest.mark.parametrize('method', ['linear', 'cubic'])
@pytest.mark.parametrize('shape', [(28, 20), (64, 33), (5, 4)])
@pytest.mark.parametrize('form', FORMS)
def test_each_form_equals_resize_of_the_sliced_crop(image, shape, method, form):
    run = jax.jit(form, static_argnums=(2, 3))
    for box in BOXES:
        top, left, height, width = box
        sliced = image[top : top + height, left : left + width]
        # jax.image.resize itself needs implicit promotion.
        with jax.numpy_dtype_promotion('standard'), jax.numpy_rank_promotion('allow'):
            expected = jax.image.resize(sliced, (*shape, 3), method, antialias=False)
        found = run(image, tuple(jnp.int32(number) for number in box), shape, method)
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize('method', ['linear', 'cubic'])
@pytest.mark.parametrize('form', FORMS)
def test_pixels_outside_the_box_never_contribute(image, method, form):
    top, left, height, width = box = (3, 5, 9, 7)
    outside = jnp.ones(image.shape[:2], bool).at[top : top + height, left : left + width].set(False)
    changed = jnp.where(outside[..., None], 1e6, image)
    kept = form(image, box, (28, 20), method)
    np.testing.assert_array_equal(form(changed, box, (28, 20), method), kept)


@pytest.mark.parametrize(
    ('shape', 'method', 'form'),
    [
        ((32, 32, 3), 'cubic', 'product'),
        ((32, 32, 3), 'linear', 'gather'),
        ((28, 28, 1), 'cubic', 'gather'),
        ((112, 112, 3), 'cubic', 'gather'),
    ],
)
def test_the_form_is_chosen_by_size(shape, method, form):
    image = jax.ShapeDtypeStruct(shape, jnp.float32)
    run = jax.make_jaxpr(
        lambda image: resize.crop_and_resize(image, (1, 2, 9, 8), shape[:2], method)
    )
    assert ('dot_general' in str(run(image))) == (form == 'product')
