"""Embeddings of the examples and views of a run, or of a config, by its encoder or by another."""

import flax.linen as nn
import jax
import numpy as np

from contrastive_jax import losses, names, randomness, sharding
from contrastive_jax.errors import BadInput
from contrastive_jax.evaluation.embed import embed
from contrastive_jax.evaluation.embedding_files import FACTOR, Embeddings
from contrastive_jax.evaluation.rows import checked_rows
from contrastive_jax.models.layers import layer_outputs
from contrastive_jax.models.resnet import ResNet
from contrastive_jax.models.torchvision_weights import from_torchvision, read_weights
from contrastive_jax.training import build, feed
from contrastive_jax.training import step as steps
from contrastive_jax.training.embed_step import make_embed_step
from contrastive_jax.training.restore import restored_run

# Mean and deviation of each channel, by which networks of other programs expect their images.
NORMALIZATIONS = {
    'imagenet': (np.float32([[[0.485, 0.456, 0.406]]]), np.float32([[[0.229, 0.224, 0.225]]])),
    'none': (np.float32([[[0]]]), np.float32([[[1]]])),
}


class Pixels(nn.Module):
    """No encoder: h and z are the pixels, one after another."""

    @nn.compact
    def __call__(self, images, train):
        """Images [n, ...] to [n, d], twice."""
        del train
        rows = images.reshape(len(images), -1)
        return rows, rows


def chosen_ids(source, limit, seed=0):
    """The ids of `limit` examples of a source, drawn without replacement and rising; or None."""
    if limit is None or len(source) <= limit:
        return None
    if limit < 1:
        raise BadInput(f'limit is {limit}; it must be at least 1.')
    return np.sort(np.random.default_rng(seed).choice(len(source), limit, replace=False))


def embeddings_of_run(path, split, *, step=None, encoder='', **options):
    """Embeddings of the examples of a run, by its encoder or by another.

    Args:
      path: the directory of the run.
      split: 'train' or 'test'.
      step: of the checkpoint; the newest sound one by default.
      encoder: '' for the run's, or as for `embeddings_of_config`.
      **options: `layer`, `limit` and `normalize`, as there.

    Returns:
      An `Embeddings`.

    Raises:
      BadInput: no run or checkpoint, an encoder or a layer that cannot be.
    """
    experiment, state = restored_run(path, step=step)
    found = _embeddings(experiment, state.variables, split, encoder, **options)
    named = encoder or f'step {int(state.step)}'
    return found._replace(source=f'{split} examples of {path}, {found.source}{named}')


def embeddings_of_config(config, split, *, encoder, **options):
    """Embeddings of the data of a config, which need not have run, by a given encoder.

    Args:
      config: a ConfigDict.
      split: 'train' or 'test'.
      encoder: 'untrained'; 'pixels'; a file of torchvision's weights; or 'module:function', from
        images [n, h, w, c] in [0, 1] to [n, d].
      **options: `layer`, in place of h, see `models.layers.layer_outputs`; `limit`, the most
        examples, see `embed_split`; `normalize`, of a file of weights, a key of NORMALIZATIONS:
        what its network was trained on.

    Returns:
      An `Embeddings`.

    Raises:
      BadInput: no encoder is given, or as `embeddings_of_run`.
    """
    if not encoder:
        raise BadInput(
            "--encoder is '', but a config has no trained encoder: give untrained, pixels, a file "
            'of weights or module:function, or the --workdir of a run.'
        )
    build.check_fields(config)
    experiment = build.build(config)
    found = _embeddings(experiment, initial_variables(experiment), split, encoder, **options)
    source = f'{config.data.probing} of {config.data.source}'
    return found._replace(source=f'{split} examples of {source}, {found.source}{encoder}')


def initial_variables(experiment):
    """The variables of the model as the config's seed initialises them."""
    with jax.set_mesh(experiment.mesh):
        return jax.jit(experiment.init_state)(experiment.seed_key).variables


def _embeddings(
    experiment, variables, split, encoder, *, layer='', limit=None, normalize='imagenet'
):
    """Embeddings by an encoder whose name the caller writes behind the `source`."""
    model = experiment.model
    how = f'nothing drawn, {layer and f"layer {layer}, "}'
    after, view = None, experiment.resting_view
    if ':' in encoder:
        after = applied(names.pick_or_import(losses, encoder, 'encoder'), experiment.image_shape)
    if encoder == 'pixels' or after:
        if layer:
            raise BadInput(f'--layer is {layer!r}, but the encoder {encoder!r} has no layers.')
        model, variables = Pixels(), {}
    elif encoder == 'untrained':
        variables = initial_variables(experiment)
    elif encoder:
        variables = weights_from_file(model, variables, encoder)
        view = normalized(experiment.resting_view, normalize)
        how += f'normalised by {normalize}, '
    with jax.set_mesh(experiment.mesh):
        layers = (layer,) if layer else ()
        found = embed_split(
            experiment,
            variables,
            split,
            model=model,
            layers=layers,
            limit=limit,
            after=after,
            view=view,
        )
    h, z = found[f'layer_{layer}' if layer else 'embeddings'], found['projections']
    return Embeddings(
        h=h,
        z=z if encoder in ('', 'untrained') else None,  # the head belongs to the run's encoder
        factors={
            name.removeprefix(FACTOR): values
            for name, values in found.items()
            if name.startswith(FACTOR)
        },
        ids=found['ids'],
        latents=found.get('latents'),
        source=f'{how}encoder: ',
    )


def weights_from_file(model, variables, path):
    """The variables of a run's model with the weights of a file in torchvision's format."""
    check_torchvision(
        model,
        f'--encoder is {path!r}, a file of weights unless it is untrained, pixels or '
        'module:function; weights',
    )
    return from_torchvision(variables, read_weights(path))


def check_torchvision(model, what):
    """Raises BadInput unless a model has the form of torchvision's, which `what` needs."""
    if isinstance(model, ResNet) and model.variant == 'torchvision':
        return
    raise BadInput(
        f"{what} need a config.model of name='resnet' with variant='torchvision', and "
        f'this one is a {type(model).__name__}'
        + (f' with variant={model.variant!r}.' if isinstance(model, ResNet) else '.')
    )


def normalized(view, normalize):
    """A view whose images are normalised as NORMALIZATIONS says; BadInput for other channels."""
    if normalize not in NORMALIZATIONS:
        choices = ', '.join(NORMALIZATIONS)
        raise BadInput(f'--normalize is {normalize!r}, not one of: {choices}.')
    mean, deviation = NORMALIZATIONS[normalize]

    def normalized_view(image):
        image = view(image)
        if mean.size not in (1, image.shape[-1]):
            fitting = [
                name for name, (of, _) in NORMALIZATIONS.items() if of.size in (1, image.shape[-1])
            ]
            raise BadInput(
                f'--normalize is {normalize!r}, of {mean.size} channels, but these images '
                f'have {image.shape[-1]}; choose: {", ".join(fitting)}.'
            )
        return (image - mean) / deviation

    return normalized_view


def embed_split(
    experiment, variables, split, *, model=None, layers=(), limit=None, after=None, view=None
):
    """What an encoder makes of the examples of a split, nothing drawn.

    Args:
      experiment: a `build.Experiment`.
      variables: of the model.
      split: 'train' or 'test'.
      model: a Linen module; that of the experiment by default.
      layers: names of layers that are wanted too, see `models.layers.layer_outputs`.
      limit: the most examples; more are drawn from at random, the same at every call.
      after: (outputs) -> outputs, on the host after every batch; None for none.
      view: image -> image; by default that of the experiment with nothing drawn.

    Returns:
      dict of arrays [n, ...]: `embeddings` h, `projections` z, `layer_<name>`, `factor_<name>`,
      `latents` where there are any, `labels`, `ids`.

    Raises:
      BadInput: a layer that the model does not have.
    """
    dataset, model = getattr(experiment, split), model or experiment.model
    view = view or experiment.resting_view
    inner = make_embed_step(dataset=dataset, view=view, model=model)

    def step(variables, batch, tables, key):
        outputs = inner(variables, batch, tables, key)
        if layers:
            examples = steps.compose(dataset, batch, tables, key)
            images = jax.vmap(view)(examples['image'])
            images = steps.append_channels(images, examples['channels'])
            found = layer_outputs(model, variables, images, layers)
            outputs |= {f'layer_{name}': rows for name, rows in found.items()}
        return outputs

    step = jit_embed_step(experiment, step)
    return embed_by(experiment, step, variables, split, limit=limit, after=after)


def applied(function, image_shape):
    """What puts a user's features in the place of pixels, for `after` of `embed_split`."""

    def after(outputs):
        images = np.asarray(outputs['embeddings']).reshape(-1, *image_shape)
        rows = checked_rows(np.asarray(function(images)), 'features of your function')
        if len(rows) != len(images):
            raise BadInput(f'Your function made {len(rows)} rows of {len(images)} images.')
        return {**outputs, 'embeddings': rows, 'projections': rows}

    return after


def embed_views(experiment, variables, split, *, limit=None):
    """What the encoder makes of two views of each example of a split, drawn as in training.

    Args: as `embed_split`.

    Returns:
      dict of `h` and `z`, each a tuple of two arrays [n, d].
    """
    dataset = getattr(experiment, split)

    def step(variables, batch, tables, key):
        sides = steps.sides_of_examples(dataset, batch, tables, key)
        images = steps.views_side_by_side(experiment.view, sides)
        outputs = experiment.model.apply(variables, images, train=False)
        return {
            f'{name}{side}': rows[side::2]
            for name, rows in zip('hz', outputs, strict=True)
            for side in range(2)
        }

    step, source = jit_embed_step(experiment, step), cropped(experiment, split, crops=2)
    found = embed_by(experiment, step, variables, split, source=source, limit=limit)
    return {name: (found[f'{name}0'], found[f'{name}1']) for name in 'hz'}


def cropped(experiment, split, *, crops, number=0):
    """The source of a split as views draw from it: of random crops where the host makes them.

    Args:
      experiment: a `build.Experiment`.
      split: 'train' or 'test'.
      crops: of each example; 2 are the two sides of a pair.
      number: another one draws other crops.
    """
    source = getattr(experiment, split).source
    if not experiment.crops_on_host:
        return source
    entropy = (*np.asarray(jax.random.key_data(experiment.seed_key)).tolist(), number)
    role = int(randomness.SPLIT_ROLES[split])
    return feed.CroppedOnHost(source, experiment.crop_ranges, (*entropy, role), crops)


def jit_embed_step(experiment, step):
    """A step, (variables, batch, tables, key) -> dict of rows, jitted: rows come back whole."""
    whole = sharding.replicated(experiment.mesh)
    rows = sharding.batch_sharding(experiment.mesh)
    return jax.jit(step, in_shardings=(whole, rows, whole, whole), out_shardings=whole)


def embed_by(
    experiment, step, variables, split, *, source=None, number=None, tables=None, limit=None,
    after=None, check=lambda: None,
):  # fmt: skip
    """What a jitted step makes of the examples of a split.

    Args:
      experiment: a `build.Experiment`.
      step: as `jit_embed_step` returns it; whoever keeps it compiles it once.
      variables: of the model.
      split: 'train' or 'test'.
      source: in place of that of the split.
      number: of a pass, for a step of `make_pass_step`.
      tables: those of the split where they lie on the devices already.
      limit: as for `embed_split`.
      after: as for `embed_split`.
      check: called before every batch; what it raises ends the embedding.

    Returns:
      dict of arrays [n, ...]: what the step returns, `labels` and `ids`.
    """
    dataset = getattr(experiment, split)
    source = dataset.source if source is None else source
    if tables is None:
        tables = jax.device_put(dict(dataset.tables), sharding.replicated(experiment.mesh))
    key = randomness.key_for(experiment.seed_key, randomness.SPLIT_ROLES[split])
    if number is not None:
        key = key, np.int32(number)

    def whole_step(variables, batch, key):
        check()
        outputs = step(variables, batch, tables, key)
        return after(outputs) if after else outputs

    ids = chosen_ids(source, limit)
    return embed(whole_step, variables, source, key, experiment.mesh, ids=ids)
