"""Which parts of a composed example are made of the pixels of the source's image."""

import jax

from contrastive_jax.data.probing.dataset import evaluation_draws


def made_of_pixels(dataset):
    """The names of what a composition makes of the image, read from its traced program.

    What is not among them is the same whatever the image: it needs no decoding, and two crops of
    one image share it.

    Args:
      dataset: a `ProbingDataset`.

    Returns:
      A set of the names of `dataset.compose`'s result. Where an inner function takes the image,
      all of its results count.
    """
    number = jax.ShapeDtypeStruct((), 'int32')
    image = jax.ShapeDtypeStruct(dataset.source.image_shape, 'uint8')

    def compose(image, label, example_id, key, tables):
        example = {'image': image, 'label': label, 'id': example_id}
        return dataset.compose(evaluation_draws(key), example, tables)

    key = jax.eval_shape(jax.random.key, 0)
    program, result = jax.make_jaxpr(compose, return_shape=True)(
        image, number, number, key, dict(dataset.tables)
    )
    reached = {id(program.jaxpr.invars[0])}
    for equation in program.jaxpr.eqns:
        if any(id(variable) in reached for variable in equation.invars):
            reached.update(map(id, equation.outvars))
    places = jax.tree.unflatten(jax.tree.structure(result), map(id, program.jaxpr.outvars))
    return {name for name, place in places.items() if place in reached}
