"""`config.views` becomes a view, and a view at rest; two views side by side feed two encoders."""

import jax.numpy as jnp

from contrastive_jax import models, names, views
from contrastive_jax.errors import BadInput
from contrastive_jax.models.two_encoders import TwoEncoders
from contrastive_jax.models.view_by_view import ViewByView
from contrastive_jax.training import shapes
from contrastive_jax.training.bind_loss import compares_two_views, loss_function
from contrastive_jax.training.sections import bind_section, options_of

# The option of any model that makes it a `ViewByView`.
VIEW_BY_VIEW = 'view_by_view'


def bind_views(section):
    """The view that `config.views` names, (key, image) -> image, and what it does at rest.

    With `beside`, the name of a second view, the channels of that one stand behind those of the
    first: both are drawn with one key and have the same options.
    """
    if 'beside' not in section:
        return bind_section(views, section, 'views'), resting_views(section)[0]
    names.pick(views, section['beside'], 'views.beside')
    options = options_of(section, 'name', 'beside')
    both = [
        bind_section(views, {**options, 'name': section[field]}, 'views')
        for field in ('name', 'beside')
    ]
    resting = resting_views(section)
    return (
        lambda key, image: jnp.concatenate([view(key, image) for view in both], axis=-1),
        lambda image: jnp.concatenate([view(image) for view in resting], axis=-1),
    )


def shows_whole(section):
    """Whether `config.views` shows the whole image at rest, as all views but one do."""
    return 'centre_crop' not in (section.get(field) for field in ('name', 'beside'))


def resting_views(section):
    """What each view that `config.views` names leaves of an image where nothing is drawn."""

    def resting(name):
        named, options = getattr(views, name), options_of(section, 'name', 'beside')
        return lambda image: views.without_draws(named, image, **options)

    return [resting(section[field]) for field in ('name', 'beside') if field in section]


def bind_model(config, dataset, image_shape):
    """The Linen module of a config: two of `config.model` where the loss has two encoders.

    Args:
      config: a ConfigDict.
      dataset: the `ProbingDataset` to train on.
      image_shape: (h, w, c) of the views, appended channels included; the latter are seen by both
        of two encoders.

    Raises:
      BadInput: an option that cannot be, or two encoders without two views.
    """
    supplied = {'constant_channels': shapes.appended_channels(dataset)}
    make = bind_section(models, config.model, 'model', supplied, taken=(VIEW_BY_VIEW,))
    view_by_view = config.model.get(VIEW_BY_VIEW, False)
    if not isinstance(view_by_view, bool):
        raise BadInput(
            f'config.model.{VIEW_BY_VIEW} is {view_by_view!r}; it must be True or False.'
        )
    if view_by_view:
        if not compares_two_views(config.loss) or config.data.get('negatives'):
            raise BadInput(
                f'config.model.{VIEW_BY_VIEW} is True, which is for losses that compare two views, '
                'without negatives from elsewhere.'
            )
        return ViewByView(make())
    if 'bank2' not in loss_function(config.loss)[1]:
        return make()
    if 'beside' not in config.views:
        raise BadInput(
            f'config.loss.name is {config.loss.name!r}, with an encoder for each of two views, but '
            "config.views.beside is missing: give the views of one image as name='luminance' and "
            "beside='colour'."
        )
    with_appended = [shapes.seen_shape(dataset, view)[-1] for view in resting_views(config.views)]
    first, second = (image_shape[-1] - other for other in with_appended[::-1])
    return TwoEncoders(make(), make(), (first, second))
