"""Figure 6: what is read of digit and object against the number of different digits."""

from contrastive_jax import reporting
from experiments.chen2021.figures.names import loss_name
from experiments.chen2021.rows import layers_of

PANELS = {
    'test_accuracy': 'digit',
    'test_accuracy_all_digits': 'digit, probe fitted to all digits',
    'test_accuracy_object': 'object',
}


def draw(rows, path):
    """A panel for each reading and a line for each loss.

    Args:
      rows: of results.csv of the sweep of digit_on_image_laptop.py, or of digit_on_image.py.
      path: of the PNG.
    """
    title = 'What is learned of digits and of objects that compete'
    draw_panels(rows, path, lambda row: loss_name(row['loss']), title)


def draw_ablation(rows, path):
    """A panel for each reading and a line for each batch size and head.

    Args:
      rows: of results.csv of the sweep of digit_on_image_ablation_laptop.py, or of its full form.
      path: of the PNG.
    """

    def setting(row):
        return f'head of {layers_of(row)} layers, batch of {row["batch_size"]:,}'

    title = 'Do batch size or head change what is learned of digits and of objects?'
    draw_panels(rows, path, setting, title)


def draw_panels(rows, path, line_of, title):
    """A panel for each reading, the number of digits on a log axis.

    Args:
      rows: of results.csv.
      path: of the PNG.
      line_of: (row) -> the name of its line.
      title: of the picture.
    """
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(12, 4), layout='constrained')
    plots = drawing.subplots(1, len(PANELS), sharey=True)
    lines = list(dict.fromkeys(line_of(row) for row in rows))
    for plot, (metric, reading) in zip(plots, PANELS.items(), strict=True):
        for line in lines:
            own = [row for row in rows if line_of(row) == line]
            points = reporting.average_over_seeds(own, ['data.num_unique'], metric)
            points.sort(key=lambda point: point['data.num_unique'])
            at = [point['data.num_unique'] for point in points]
            reporting.draw_points(plot, at, points, marker='o', label=line)
        numbers = sorted({row['data.num_unique'] for row in rows})
        if metric != 'test_accuracy_object':  # of ten digits
            plot.axhline(0.1, color='0.3', linewidth=1, linestyle=':')
            plot.annotate('chance', (numbers[0], 0.1), ha='left', va='top', color='0.3')
        plot.set_xscale('log', base=2)
        plot.set_xticks(numbers, [f'{number:,}' for number in numbers])
        plot.minorticks_off()
        plot.set_title(reading)
        plot.set_xlabel('different digits on the training images')
        plot.set_ylim(0, 1)
        plot.grid(alpha=0.25)
    plots[0].set_ylabel('linear-probe accuracy')
    plots[-1].legend(frameon=False, loc='lower left')
    drawing.suptitle(title)
    reporting.save_figure(drawing, path)
