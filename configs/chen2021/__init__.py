"""Intriguing Properties of Contrastive Losses (Chen, Luo and Li, 2021)."""


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


def at_batches(points, batches, examples, epochs, warmup_epochs):
    """The points at each batch size, for as many epochs and epochs of warm-up each."""
    return [
        {
            **point,
            'batch_size': batch,
            'num_steps': examples * epochs // batch + 1,
            'optimizer.warmup': examples * warmup_epochs // batch,
        }
        for point in points
        for batch in batches
    ]


def check_argument(arg, losses):
    """ValueError for an argument of a config that is neither '', 'smoke' nor a loss."""
    choices = ('', 'smoke', *losses)
    if arg not in choices:
        raise ValueError(f"the config's argument is {arg!r}, not one of: {str(choices)[1:-1]}.")
