"""Figure 1 and the batch sizes of Tables 2 and A.1 to A.3: five losses by head depth and length."""

from configs.chen2021 import five_losses
from configs.chen2021.losses_laptop import BATCH, SHORT, STEPS
from contrastive_jax import reporting
from experiments.chen2021.claims.losses import chosen, name_of, range_over_losses
from experiments.chen2021.paper_tables import table

MARKERS = 'os^'


def draw(rows, path):
    """The losses, ours and the paper's on CIFAR-10 and ImageNet; right, NT-Xent's batch sizes.

    Args:
      rows: of results.csv.
      path: of the PNG.
    """
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(17, 4.2), layout='constrained')
    plots = drawing.subplots(1, 4)
    names = list(five_losses(dimensions=64))
    for number, (layers, steps) in enumerate(((2, SHORT), (2, STEPS), (3, STEPS))):
        own = chosen(rows, layers=layers, num_steps=steps, batch_size=BATCH)
        own = [{**row, 'loss': name_of(row)} for row in own]
        points = {
            p['loss']: p for p in reporting.average_over_seeds(own, ['loss'], 'test_accuracy')
        }
        by_seed = [
            range_over_losses(
                [row for row in own if row['seed'] == seed], layers=layers, num_steps=steps
            )
            for seed in sorted({row['seed'] for row in own})
        ]
        label = f'{layers} layers, {steps} steps: range {sum(by_seed) / len(by_seed):.3f}'
        _draw_points(
            plots[0], [i + 0.15 * (number - 1) for i in range(5)],
            [points[name] for name in names], label, MARKERS[number],
        )  # fmt: skip
    plots[0].set_title('ours: five losses on digits')
    _draw_paper(plots[1], 0, 'table_a1', 128, 'ep100', '2 layers, 100 epochs')
    _draw_paper(plots[1], 1, 'table_a1', 128, 'ep800', '2 layers, 800 epochs')
    plots[1].set_title('paper: CIFAR-10, batch 128')
    _draw_paper(plots[2], 1, 'table_a2', 1024, 'ep100', '2 layers')
    _draw_paper(plots[2], 2, 'table_a3', 1024, 'ep100', '3 layers')
    plots[2].set_title('paper: ImageNet, 100 epochs, batch 1,024')
    for plot in plots[:3]:
        plot.set_xticks(range(5), [name.replace('_', '\n') for name in names], fontsize=8)
    for number, layers in enumerate((2, 3), start=1):
        own = [row for row in chosen(rows, layers=layers) if name_of(row) == 'nt_xent']
        own = [row for row in own if row['num_steps'] * row['batch_size'] == STEPS * BATCH]
        points = reporting.average_over_seeds(own, ['batch_size'], 'test_accuracy')
        points.sort(key=lambda point: point['batch_size'])
        places = [point['batch_size'] for point in points]
        _draw_points(plots[3], places, points, f'{layers} layers', MARKERS[number])
    plots[3].set_xscale('log', base=2)
    plots[3].set_xticks(places, [str(place) for place in places])
    plots[3].set_xlabel('batch size, as many epochs each')
    plots[3].set_title('ours: NT-Xent')
    plots[0].set_ylabel('linear-probe accuracy')
    drawing.suptitle('The losses differ little (bars of ours: least and greatest of three seeds)')
    for plot in plots:
        plot.margins(y=0.5)
        plot.grid(alpha=0.25)
        plot.legend(frameon=False, loc='upper right')
    reporting.save_figure(drawing, path)


def _draw_paper(plot, style, table_name, batch, epochs, label):
    """The five losses of a column of a paper's table at a batch size; style counts MARKERS."""
    rows = [row for row in table(table_name) if row['batch'] == batch]
    accuracies = {row['loss']: row[epochs] / 100 for row in rows}
    accuracies = [accuracies[loss] for loss in five_losses(dimensions=64)]
    spread = max(accuracies) - min(accuracies)
    plot.plot(
        [i + 0.15 * (style - 1) for i in range(5)], accuracies, MARKERS[style],
        label=f'{label}: range {spread:.3f}', color=f'C{style}',
    )  # fmt: skip


def _draw_points(plot, places, points, label, marker):
    """Points in the colour of their marker."""
    colour = f'C{MARKERS.index(marker)}'
    reporting.draw_points(plot, places, points, fmt=marker, label=label, color=colour)
