"""Figure 6: what is read of digit and object against the number of different digits."""

import io

from contrastive_jax import reporting, storage

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
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot as plt

    drawing, plots = plt.subplots(
        1, len(PANELS), figsize=(12, 4), sharey=True, layout='constrained'
    )
    losses = list(dict.fromkeys(row['loss'] for row in rows))
    for plot, (metric, title) in zip(plots, PANELS.items(), strict=True):
        for loss in losses:
            own = [row for row in rows if row['loss'] == loss]
            points = reporting.average_over_seeds(own, ['data.num_unique'], metric)
            points.sort(key=lambda point: point['data.num_unique'])
            means = [point['mean'] for point in points]
            ends = [
                [point['mean'] - point['least'] for point in points],
                [point['greatest'] - point['mean'] for point in points],
            ]
            at = [point['data.num_unique'] for point in points]
            plot.errorbar(at, means, yerr=ends, marker='o', capsize=3, label=loss)
        plot.set_xscale('log', base=2)
        plot.set_title(title)
        plot.set_xlabel('different digits on the training images')
        plot.set_ylim(0, 1)
        plot.grid(alpha=0.25)
    plots[0].set_ylabel('linear-probe accuracy')
    plots[-1].legend(frameon=False, loc='lower left')
    drawing.suptitle('What is learned of digits and of objects that compete')
    image = io.BytesIO()
    drawing.savefig(image, dpi=150, format='png')
    plt.close(drawing)
    storage.write(storage.path(path), image.getvalue())
