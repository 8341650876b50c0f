"""Figure 1 and the batch sizes of Tables 2 and A.1 to A.3: five losses by head depth and length."""

import functools

from matplotlib.figure import Figure

from configs.chen2021 import cifar10_losses, five_losses, imagenet_losses, losses_laptop
from contrastive_jax import reporting
from experiments.chen2021.claims.losses import name_of, ranges_over_losses
from experiments.chen2021.paper_tables import table
from experiments.chen2021.rows import images_of, layers_of

MARKERS = 'os^v'


def draw(rows, path, *, data, batch, shown):
    """The losses, ours and the paper's on CIFAR-10 and ImageNet; right, NT-Xent's batch sizes.

    Args:
      rows: of results.csv.
      path: of the PNG.
      data: the name of our images.
      batch: the batch size of our five losses.
      shown: (head layers, place in MARKERS, length in words, steps at that batch) of each set of
        points; the batch sizes are of as many images as the last.
    """
    drawing = Figure(figsize=(17, 4.2), layout='constrained')
    plots = drawing.subplots(1, 4)
    seen = [images_of({'num_steps': steps, 'batch_size': batch}) for *_, steps in shown]
    for (layers, place, words, _), images in zip(shown, seen, strict=True):
        own = [
            {**row, 'loss': name_of(row)} for row in rows
            if (layers_of(row), row['batch_size'], images_of(row)) == (layers, batch, images)
        ]  # fmt: skip
        _draw_losses(plots[0], own, f'{layers} layers, {words}', place)
    plots[0].set_title(f'ours: five losses on {data}')
    _draw_paper(plots[1], 0, 'table_a1', 128, 'ep100', '2 layers, 100 epochs')
    _draw_paper(plots[1], 1, 'table_a1', 128, 'ep800', '2 layers, 800 epochs')
    plots[1].set_title('paper: CIFAR-10, batch 128')
    _draw_paper(plots[2], 1, 'table_a2', 1024, 'ep100', '2 layers')
    _draw_paper(plots[2], 2, 'table_a3', 1024, 'ep100', '3 layers')
    plots[2].set_title('paper: ImageNet, 100 epochs, batch 1,024')
    for plot in plots[:3]:
        names = [name.replace('_', '\n') for name in five_losses(dimensions=64)]
        plot.set_xticks(range(5), names, fontsize=8)
    own = [row for row in rows if name_of(row) == 'nt_xent' and images_of(row) == seen[-1]]
    for layers in sorted({layers_of(row) for row in own}):
        points = reporting.average_over_seeds(
            [row for row in own if layers_of(row) == layers], ['batch_size'], 'test_accuracy'
        )
        points.sort(key=lambda point: point['batch_size'])
        sizes = [point['batch_size'] for point in points]
        _draw_points(plots[3], sizes, points, f'{layers} layers', MARKERS[layers - 1])
    sizes = sorted({row['batch_size'] for row in own})
    plots[3].set_xscale('log', base=2)
    plots[3].set_xticks(sizes, [f'{size:,}' for size in sizes])
    plots[3].set_xlabel('batch size, as many epochs each')
    plots[3].set_title('ours: NT-Xent')
    plots[0].set_ylabel('linear-probe accuracy')
    drawing.suptitle('The losses differ little (bars of ours: least and greatest seed)')
    for plot in plots:
        plot.margins(y=0.5)
        plot.grid(alpha=0.25)
        plot.legend(frameon=False, loc='upper right')
    reporting.save_figure(drawing, path)


def _draw_losses(plot, rows, label, place):
    """Our five losses at one head, batch size and length, with their mean range over seeds."""
    points = {p['loss']: p for p in reporting.average_over_seeds(rows, ['loss'], 'test_accuracy')}
    seeds = sorted({row['seed'] for row in rows})
    ranges = [ranges_over_losses([row for row in rows if row['seed'] == seed]) for seed in seeds]
    mean = sum(at for by_setting in ranges for at in by_setting.values()) / len(seeds)
    _draw_points(
        plot, [i + 0.15 * (place - 1) for i in range(5)],
        [points[name] for name in five_losses(dimensions=64)],
        f'{label}: range {mean:.3f}', MARKERS[place],
    )  # fmt: skip


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


draw_laptop = functools.partial(
    draw,
    data='digits',
    batch=losses_laptop.BATCH,
    shown=[
        (2, 0, f'{losses_laptop.SHORT} steps', losses_laptop.SHORT),
        (2, 1, f'{losses_laptop.STEPS} steps', losses_laptop.STEPS),
        (3, 2, f'{losses_laptop.STEPS} steps', losses_laptop.STEPS),
    ],
)
# The batch sizes and lengths of the paper's Fig. 1.
draw_cifar10 = functools.partial(
    draw,
    data='CIFAR-10',
    batch=128,
    shown=[
        (2, place, f'{epochs} epochs', cifar10_losses.EXAMPLES * epochs // 128)
        for place, epochs in enumerate((100, 800))
    ],
)
draw_imagenet = functools.partial(
    draw,
    data='ImageNet',
    batch=1024,
    shown=[
        (layers, layers - 1, '100 epochs', imagenet_losses.EXAMPLES * 100 // 1024)
        for layers in (2, 3)
    ],
)
