"""Intriguing Properties of Contrastive Losses (Chen, Luo and Li, 2021)."""

# The network before training, to compare a trained one with: 50 steps at a rate of next to nothing
# leave the weights as drawn and fit batch norm's statistics to the images.
BEFORE_TRAINING = {'num_steps': 50, 'optimizer.learning_rate': 1e-9}


def five_losses(dimensions, tau=0.2):
    """The five losses of the paper's tables, as forms of the generalized one.

    But for a constant, NT-Xent at temperature tau is the generalized loss without the row itself,
    of weight tau / d and scale d / tau.

    Args:
      dimensions: d, of the projections z.
      tau: the temperature of NT-Xent.

    Returns:
      Name to `config.loss`, all with the same fields. The scale 1000 goes with normalised z.

    Source: Table 1 and appendix A.1; the conventions of the public notebook.
    """
    sliced = dict(distribution='sliced_wasserstein', weight=5.0, temperature=None)
    kernel = dict(prior='uniform_hypersphere', distribution='log_sum_exp')
    nt_xent = dict(weight=tau / dimensions, temperature=tau, scale=dimensions / tau)
    losses = {
        'nt_xent': dict(kernel, **nt_xent, include_self=False),
        'decoupled_nt_xent': dict(kernel, weight=0.1, temperature=1.0, scale=1000.0),
        'swd_normal': dict(sliced, prior='normal', scale=1.0),
        'swd_hypercube': dict(sliced, prior='uniform_hypercube', scale=1.0),
        'swd_hypersphere': dict(sliced, prior='uniform_hypersphere', scale=1000.0),
    }
    shared = dict(name='generalized_contrastive', include_self=True)
    return {name: {**shared, **options} for name, options in losses.items()}


def points_of(losses):
    """The points of a sweep over losses with the same fields."""
    return [
        {f'loss.{field}': value for field, value in loss.items() if field != 'name'}
        for loss in losses.values()
    ]


def of_epochs(examples, epochs, warmup_epochs, batch_size):
    """The values of a point that make a run of so many epochs, as the official code counts them."""
    return {
        'batch_size': batch_size,
        'num_steps': examples * epochs // batch_size + 1,
        'optimizer.warmup': examples * warmup_epochs // batch_size,
    }


def at_batches(points, batches, *epochs):
    """The points at each batch size, for as many epochs each: `of_epochs` with its other values."""
    return [{**point, **of_epochs(*epochs, batch)} for point in points for batch in batches]


def at_lengths(points, batches, examples, lengths, warmup_epochs):
    """`at_batches` at each of several numbers of epochs."""
    return [
        point
        for epochs in lengths
        for point in at_batches(points, batches, examples, epochs, warmup_epochs)
    ]


def at_seeds(points):
    """The points at three seeds, one after another: those of the first are the paper's one run."""
    return [{**point, 'seed': seed} for seed in (0, 1, 2) for point in points]


def check_argument(arg, losses):
    """ValueError for an argument of a config that is neither '', 'smoke' nor a loss."""
    choices = ('', 'smoke', *losses)
    if arg not in choices:
        raise ValueError(f"the config's argument is {arg!r}, not one of: {str(choices)[1:-1]}.")


def text_of(section):
    """A section of a config as the text that a sweep's point has: 'nt_xent,temperature=0.2'."""
    options = [f'{name}={value}' for name, value in section.items() if name != 'name']
    return ','.join([section['name'], *options])


def randbit_methods(
    dimensions, batch_sizes, queue, momentum, predictor_width, temperatures=(), weights=()
):
    """What Fig. 7, B.1 and B.2 train on images with random bits.

    Args:
      dimensions: d, of the projections z.
      batch_sizes: of NT-Xent; all else has the first.
      queue: rows of momentum contrast's.
      momentum: of the slow encoders of momentum contrast and BYOL.
      predictor_width: of BYOL.
      temperatures: of NT-Xent beside 0.2.
      weights: of decoupled NT-Xent's spread beside 0.1.

    Returns:
      Name to the values of a point's axes `loss`, `memory`, `target` and `batch_size`.

    Source: Fig. 7, Sec. 5 and App. B.1, which name the methods; that MoCo and BYOL have the
      options of their own papers, but for sizes, is a choice.
    """
    alone = dict(memory='', target='', batch_size=batch_sizes[0])
    five = five_losses(dimensions)
    methods = {name: dict(alone, loss=text_of(loss)) for name, loss in five.items()}
    methods['nt_xent']['loss'] = nt_xent = 'nt_xent,temperature=0.2'
    for size in batch_sizes[1:]:
        methods[f'nt_xent, batch {size}'] = dict(alone, loss=nt_xent, batch_size=size)
    for temperature in temperatures:
        name = f'nt_xent, temperature {temperature}'
        methods[name] = dict(alone, loss=f'nt_xent,temperature={temperature}')
    for weight in weights:
        loss = dict(five['decoupled_nt_xent'], weight=weight)
        methods[f'decoupled_nt_xent, weight {weight}'] = dict(alone, loss=text_of(loss))
    methods['moco'] = dict(
        alone,
        loss='queue_contrastive,temperature=0.2',
        memory=f'size={queue}',
        target=f'momentum={momentum}',
    )
    target = f'momentum={momentum},predictor_width={predictor_width}'
    methods['byol'] = dict(alone, loss='byol_regression', target=target)
    return methods


def label_of(methods):
    """(A point) -> the name of the method that it trains, for a figure's legend."""

    def label(point):
        names = [
            name
            for name, method in methods.items()
            if all(point.get(axis) == value for axis, value in method.items())
        ]
        return names[0] if names else ', '.join(map(str, point.values()))  # of other axes

    return label


def with_bits(config, *epochs):
    """A config of images as one with random bits beside them and NT-Xent, of so many epochs.

    Args:
      config: a ConfigDict.
      epochs: of `of_epochs`, but for the batch size; none keeps the length.
    """
    config.data = dict(config.data, probing='randbit', num_bits=0)
    config.loss = dict(name='nt_xent', temperature=0.2)
    if epochs:
        config.update_from_flattened_dict(of_epochs(*epochs, config.batch_size))
    return config


def points_with_bits(methods, num_bits, *epochs):
    """Every method of `randbit_methods` at every number of bits, the length in epochs."""
    return [
        {**method, **of_epochs(*epochs, method['batch_size']), 'data.num_bits': bits}
        for method in methods.values()
        for bits in num_bits
    ]


def figure_of_bits(methods, title, chance):
    """The figure of accuracy against the number of bits, a line for each method."""
    return dict(
        title=title,
        x='data.num_bits',
        x_label='random bits beside each image',
        y='test_accuracy',
        y_label='linear-probe accuracy',
        chance=chance,
        label=label_of(methods),
    )
