"""Pairs of observations whose latents share their content and differ in their style."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from contrastive_jax.data.probing import latent_laws
from contrastive_jax.data.probing.dataset import ProbingDataset
from contrastive_jax.data.probing.mixing import draw_mixing, mix
from contrastive_jax.errors import BadInput

CONDITIONALS = {
    'box': ('normal', 'delta'),
    'sphere': ('von_mises_fisher', 'normal', 'delta'),
}
# The option that says how wide a conditional is, and its default.
WIDTHS = {'normal': 'deviation', 'von_mises_fisher': 'concentration'}
DEFAULT_WIDTH = 0.05


def content_style(
    source,
    *,
    space='box',
    dimensions=10,
    content_dimensions=5,
    conditional='normal',
    deviation=None,
    concentration=None,
    mixing_layers=3,
    ratio=0.001,
    decoder_seed=0,
    fresh=True,
):
    """The pair (g(z), g(z~)): z uniform, z~ around z in style and with its content.

    In the box [0, 1]^d the first `content_dimensions` coordinates of z~ are those of z, and the
    others are N(z, deviation^2) given that they lie in the box. On the sphere a point y is von
    Mises-Fisher around z, or z plus N(0, deviation^2) divided by its norm; then the first
    coordinates of y are replaced by those of z and the whole is divided by its norm, so that
    content is shared up to this one factor. g is a random invertible network (`mixing`).

    Args:
      source: gives the number of examples, such as 'synthetic:10000'; its images are not read.
      space: 'box' or 'sphere'.
      dimensions: d >= 1, on the sphere >= 2.
      content_dimensions: 0..d, the first coordinates.
      conditional: the law of style: 'normal', 'delta' (z~ is z), on the sphere also
        'von_mises_fisher'.
      deviation: sigma > 0 of 'normal', .05 by default; no option of the others.
      concentration: kappa >= 0 of 'von_mises_fisher', .05 by default, at which style is nearly
        uniform; no option of the others.
      mixing_layers: of g; 1 is a linear map, 0 the identity.
      ratio: in [0, 1], the quantile of condition numbers that each layer of g must reach.
      decoder_seed: of g; an integer in 0..2^32 - 1.
      fresh: draw z anew at every visit, as the paper does; otherwise z is a function of seed, split
        and id. z~ is always drawn anew.

    Returns:
      A `ProbingDataset` of images [1, 1, d] without factors, whose latents are the z or z~ of the
      image [d], in the groups `content` and `style`; outside training, z. It measures
      `mixing_condition`, the largest condition number of g's layers.

    Raises:
      BadInput: an option out of range, unknown or without effect.

    Source: Rusak 2022, its data-generating process; Table 1 has 2 content dimensions of 10.
    """
    width = check_options(
        space, dimensions, content_dimensions, conditional,
        {'deviation': deviation, 'concentration': concentration},
    )  # fmt: skip
    check_mixing(mixing_layers, ratio, decoder_seed)
    mixing = draw_mixing(decoder_seed, dimensions, mixing_layers, ratio)
    tables = {'mixing': mixing}
    if conditional == 'von_mises_fisher':
        tables['angles'] = latent_laws.angle_table(dimensions, width)

    def draw_pair(draws, tables):
        key = draws.visit if fresh else draws.example
        if space == 'box':
            first = jax.random.uniform(key, (dimensions,))
        else:
            first = latent_laws.uniform_on_sphere(key, dimensions)
        style = draw_style(draws.side, first, space, conditional, width, tables)
        second = jnp.where(np.arange(dimensions) < content_dimensions, first, style)
        return first, second if space == 'box' else latent_laws.unit(second)

    def compose(draws, example, tables):
        del example  # an example is nothing but its keys
        first, second = draw_pair(draws, tables)
        latents = jnp.where(draws.index == 1, second, first)
        return {
            'image': mix(tables['mixing'], latents[None])[None],
            'channels': jnp.zeros(0),
            'latents': latents,
        }

    def measure(keys):
        del keys  # g does not depend on the examples
        return {'mixing_condition': float(max([1.0, *map(np.linalg.cond, mixing)]))}

    columns = np.arange(dimensions)
    groups = {'content': columns[:content_dimensions], 'style': columns[content_dimensions:]}
    groups = {name: of for name, of in groups.items() if len(of)}
    return ProbingDataset(
        source, {}, compose, measure, tables, sides_differ=True, latent_groups=groups
    )


def draw_style(key, latents, space, conditional, width, tables):
    """A point around latents [d] by the conditional law, as if there were no content."""
    if conditional == 'delta':
        return latents
    if conditional == 'von_mises_fisher':
        return latent_laws.von_mises_fisher(key, latents, tables['angles'])
    if space == 'box':
        return latent_laws.truncated_normal(key, latents, width)
    noise = np.float32(width) * jax.random.normal(key, latents.shape)
    return latent_laws.unit(latents + noise)


def check_options(space, dimensions, content_dimensions, conditional, widths):
    """The width of the conditional; BadInput where the options of the latents cannot be."""
    if space not in CONDITIONALS:
        raise BadInput(f'config.data.space is {space!r}, not one of: {", ".join(CONDITIONALS)}.')
    least = 2 if space == 'sphere' else 1
    if dimensions < least:
        raise BadInput(
            f'config.data.dimensions is {dimensions}; in the {space} it must be at least {least}.'
        )
    if not 0 <= content_dimensions <= dimensions:
        raise BadInput(
            f'config.data.content_dimensions is {content_dimensions}, outside 0..{dimensions}, the '
            'number of dimensions.'
        )
    if conditional not in CONDITIONALS[space]:
        raise BadInput(
            f'config.data.conditional is {conditional!r}; those of the {space} are: '
            f'{", ".join(CONDITIONALS[space])}.'
        )
    own = WIDTHS.get(conditional)
    for name, value in widths.items():
        if value is not None and name != own:
            raise BadInput(
                f'config.data.{name} is {value}, but the conditional {conditional!r} has no {name}.'
            )
    width = DEFAULT_WIDTH if widths.get(own) is None else widths[own]
    if not 0 <= width < math.inf or (own == 'deviation' and width == 0):
        bound = 'above 0' if own == 'deviation' else 'at least 0'
        raise BadInput(f'config.data.{own} is {width}; it must be {bound} and finite.')
    return width


def check_mixing(mixing_layers, ratio, decoder_seed):
    """BadInput where the options of g cannot be."""
    if mixing_layers < 0:
        raise BadInput(f'config.data.mixing_layers is {mixing_layers}; it must be at least 0.')
    if not 0 <= ratio <= 1:
        raise BadInput(f'config.data.ratio is {ratio}, outside 0..1.')
    if not 0 <= decoder_seed < 2**32:
        raise BadInput(f'config.data.decoder_seed is {decoder_seed}, outside 0..2^32 - 1.')
