"""Figure 6: what is read of digit and object against the number of different digits."""

from contrastive_jax import reporting

PANELS = {
    'test_accuracy': 'digit',
    'test_accuracy_all_digits': 'digit, probe fitted to all digits',
    'test_accuracy_object': 'object',
}


def draw(rows, path):
    """A panel for each reading and a line for each loss, the number of digits on a log axis.

    Args:
      rows: of results.csv of the sweep of digit_on_image_laptop.py, or of digit_on_image.py.
      path: of the PNG.
    """
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(12, 4), layout='constrained')
    plots = drawing.subplots(1, len(PANELS), sharey=True)
    losses = list(dict.fromkeys(row['loss'] for row in rows))
    for plot, (metric, title) in zip(plots, PANELS.items(), strict=True):
        for loss in losses:
            own = [row for row in rows if row['loss'] == loss]
            points = reporting.average_over_seeds(own, ['data.num_unique'], metric)
            points.sort(key=lambda point: point['data.num_unique'])
            at = [point['data.num_unique'] for point in points]
            reporting.draw_points(plot, at, points, marker='o', label=loss)
        plot.set_xscale('log', base=2)
        plot.set_title(title)
        plot.set_xlabel('different digits on the training images')
        plot.set_ylim(0, 1)
        plot.grid(alpha=0.25)
    plots[0].set_ylabel('linear-probe accuracy')
    plots[-1].legend(frameon=False, loc='lower left')
    drawing.suptitle('What is learned of digits and of objects that compete')
    reporting.save_figure(drawing, path)
