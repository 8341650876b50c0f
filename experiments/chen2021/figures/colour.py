"""The opening of section 4 of Chen 2021 as a picture: colours and class, read from h."""

from contrastive_jax import reporting

PROBES = {'colour_r2': 'R2 of the colour histogram', 'test_accuracy': 'accuracy of the class'}


def draw(rows, path, axis='views'):
    """Draws both probes against the strength of the jitter, and writes the picture.

    Args:
      rows: of results.csv, dicts with `axis`, `seed` and the probes, in the order of strength.
      path: of the PNG.
      axis: whose values name the strengths.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout='constrained')
    plot = figure.subplots()
    for marker, (probe, label) in zip('os', PROBES.items(), strict=True):
        points = reporting.average_over_seeds(rows, [axis], probe)
        places = range(len(points))
        label = f'{label} (mean of {points[0]["seeds"]} seeds)'
        reporting.draw_points(plot, places, points, marker=marker, label=label)
    plot.set_xticks(places, [strength_of(point[axis]) for point in points])
    plot.set_xlabel('colour jitter')
    plot.set_ylabel('read from h by a linear map')
    plot.set_ylim(0, 1)
    plot.set_title('What the features hold: the colours and the class')
    plot.grid(alpha=0.25)
    plot.legend(frameon=False)
    reporting.save_figure(figure, path)


def strength_of(views):
    """How a picture names a view: 'simclr_cifar,strength=0.5' is 0.5."""
    if 'simclr' not in views:
        return 'none'
    return views.partition('strength=')[2] or "SimCLR's"
