"""Identifiability: how much of each ground-truth latent a linear map reads, layer by layer."""

from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.factors import adjusted_r2
from contrastive_jax.evaluation.intervals import NORMAL_95
from contrastive_jax.panel import pictures
from contrastive_jax.panel.section import Measure, Section, Value

# More latents than these stand in the JSON alone.
LISTED = 20

MEANINGS = {
    'R2': 'share of the variance of a latent that a linear map explains: 1 all, 0 nothing',
    'adjusted R2': 'the same less what so many random regressors would explain',
}
TEXT = (
    'A linear map with an intercept from the activations of the test examples to each latent, '
    'fitted and scored on the same rows. The adjustment is for the number of regressors, not for '
    'an encoder that was trained on these rows.'
)


def section(material, key):
    """R2 and adjusted R2 of latents and their groups; None where no latents are known."""
    del key
    if material.test_latents is None:
        return None
    found, reasons = {}, []
    for name, rows in {**material.test_layers, **material.test}.items():
        try:
            found[name] = adjusted_r2(rows, material.test_latents, groups=material.latent_groups)
        except BadInput as error:  # more dimensions than rows, or a latent that is constant
            reasons.append(f'{name} is not read: {error}')
    title, text = 'Latents', ' '.join([TEXT, *reasons])
    if not found:
        return Section(title, text)
    layers = [name for name in found if name in material.test_layers]
    encoder = [*layers, *(name for name in ('h', 'z') if name in found)]
    groups = [*material.latent_groups]
    columns = named_columns(material)
    rows = {name: found[name] for name in found if name not in layers}
    measures = [
        Measure(f'{of}: {score}', values, MEANINGS[score])
        for of, score, values in scores(rows, columns, ['mean', *groups])
        if values
    ]
    caption = 'Adjusted R2 of each latent; the layers of the encoder from the first to the last.'
    order = [*layers, *rows]
    table = {name: found[name]['adjusted_r2'] for name in order}
    drawn = {caption: pictures.explained(table, columns)}
    if groups and layers:
        lines = {
            group: {name: found[name][f'{group}_adjusted_r2'] for name in encoder}
            for group in groups
        }
        drawn['Score of each group of latents, from layer to layer.'] = pictures.by_layer(lines)
    return Section(title, text, tuple(measures), drawn, details={'by layer': found})


def named_columns(material):
    """A name for each latent, with the group that it is in."""
    names = [f'latent {number}' for number in range(1, material.test_latents.shape[1] + 1)]
    for group, columns in material.latent_groups.items():
        for column in columns:
            names[column] = f'{group} {column + 1}'
    return names


def scores(found, columns, groups):
    """Rows of the table, (name, score, values): groups first, then latents if they are few.

    Args:
      found: {representation: what `adjusted_r2` gives}.
      columns: the names of the latents.
      groups: names of groups, and 'mean'.
    """
    for group in groups:
        for score, field in (('R2', f'{group}_r2'), ('adjusted R2', f'{group}_adjusted_r2')):
            of = 'all' if group == 'mean' else group
            yield of, score, {name: Value(results[field]) for name, results in found.items()}
    for place, column in enumerate(columns if len(columns) <= LISTED else ()):
        # Without an interval: in the sample it lies above the truth by about p / n.
        yield (
            column,
            'R2',
            {name: Value(float(results['r2'][place])) for name, results in found.items()},
        )
        yield (
            column,
            'adjusted R2',
            {name: with_interval(results, place) for name, results in found.items()},
        )


def with_interval(results, place):
    """The adjusted R2 of one latent, from what `adjusted_r2` gives."""
    value, error = (results[name][place] for name in ('adjusted_r2', 'adjusted_r2_error'))
    return Value(*(float(value + sign * NORMAL_95 * error) for sign in (0, -1, 1)))
