"""The report's pictures, each as the bytes of a PNG."""

import io

import numpy as np

COLOURS = ('#1f77b4', '#d95f02', '#7570b3', '#4d4d4d', '#1b9e77')


def drawn(draw, title, width=6.0, height=3.6):
    """The PNG of what `draw(axes)` draws, under a title."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout='constrained')
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    draw(axes)
    axes.spines[['top', 'right']].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_title(title, loc='left', fontsize=11)
    file = io.BytesIO()
    figure.savefig(file, format='png', dpi=110)
    return file.getvalue()


def bars(values, levels, label):
    """Groups of bars with intervals.

    Args:
      values: {group: {representation: Value}}.
      levels: {group: a level to mark}.
      label: of the axis.
    """
    names = list(dict.fromkeys(name for group in values.values() for name in group))
    width = 0.8 / len(names)

    def draw(axes):
        for number, name in enumerate(names):
            places = np.arange(len(values)) + (number - (len(names) - 1) / 2) * width
            found = [group[name] for group in values.values()]
            heights = [value.value for value in found]
            errors = [
                [value.value - value.low for value in found],
                [value.high - value.value for value in found],
            ]
            colour = COLOURS[number % len(COLOURS)]
            axes.bar(
                places, heights, width * 0.94, yerr=errors, capsize=3, color=colour, label=name
            )
        for place, level in enumerate(levels.values()):
            axes.hlines(level, place - 0.45, place + 0.45, color='0.2', linestyle=':')
        axes.set_xticks(range(len(values)), list(values))
        axes.set_ylim(0, 1)
        axes.set_ylabel(label)
        axes.legend(frameon=False, loc='center left', bbox_to_anchor=(1, 0.5))

    title = 'What a linear probe reads (dotted: chance)'
    return drawn(draw, title, width=max(5.0, 1.4 * len(values) + 3))


def two_histograms(name, histogram):
    """The cosines of positive and of negative pairs of a representation."""

    def draw(axes):
        edges = histogram['edges']
        for (name, label), colour in zip(
            (('negative', 'two examples'), ('positive', 'two views of one example')),
            COLOURS, strict=False,
        ):  # fmt: skip
            axes.stairs(histogram[f'{name}_density'], edges, fill=True, alpha=0.55, color=colour,
                        label=label)  # fmt: skip
        axes.set_xlabel('cosine')
        axes.set_ylabel('density')
        axes.set_xlim(-1, 1)
        axes.legend(frameon=False)

    return drawn(draw, f'{name}: how similar are two views, and two examples?')


def separation(name, nearest):
    """The cosine of the positive and of the nearest negatives, from `local_separation`."""

    def draw(axes):
        negatives = nearest['negatives']
        axes.bar([0], [nearest['positive']], color=COLOURS[1], label='positive')
        axes.bar(
            range(1, len(negatives) + 1), negatives, color=COLOURS[0], label='nearest negatives'
        )
        axes.set_xticks(range(len(negatives) + 1), ['+', *range(1, len(negatives) + 1)])
        axes.set_ylabel('mean cosine')
        axes.set_ylim(min(0, *negatives), 1.25 * max(nearest['positive'], negatives[0]))
        axes.legend(frameon=False, ncols=2, loc='upper right')

    return drawn(draw, f'{name}: is the other view nearer than the nearest examples?')


def spectra(found):
    """Spectra by representation, each over its largest value, on a logarithmic axis."""

    def draw(axes):
        for number, (name, spectrum) in enumerate(found.items()):
            values = spectrum['singular_values']
            share = np.maximum(values / (values[0] or 1.0), 1e-12)
            axes.semilogy(
                np.arange(1, len(share) + 1), share, color=COLOURS[number % len(COLOURS)],
                label=f'{name} ({len(share)} dimensions)',
            )  # fmt: skip
        axes.set_ylim(1e-9, 2)
        axes.set_xlabel('direction, by falling variance')
        axes.set_ylabel('variance / largest')
        axes.legend(frameon=False)

    return drawn(draw, 'How many directions are in use?')


def against_prior(name, histogram):
    """Random projections against the prior's, from `random_projection_histogram`."""

    def draw(axes):
        edges = histogram['edges']
        for number, density in enumerate(histogram['densities'][:12]):
            label = None if number else 'embeddings, in one direction'
            axes.stairs(density, edges, color=COLOURS[0], alpha=0.35, label=label)
        axes.stairs(
            histogram['density'], edges, color=COLOURS[0], linewidth=2,
            label='embeddings, all directions',
        )  # fmt: skip
        axes.stairs(
            histogram['prior_density'], edges, color=COLOURS[1], linewidth=2, label='uniform points'
        )
        axes.set_xlabel('projection')
        axes.set_ylabel('density')
        axes.legend(frameon=False)

    return drawn(draw, f'{name}: are random projections those of uniform points?')


def information(found):
    """Estimates in bits with both ceilings, from {kind: `estimate_mutual_information`}."""

    def draw(axes):
        for place, (kind, estimate) in enumerate(found.items()):
            value = estimate['bits']
            error = None
            if kind == 'views':  # of one class, pairs are not independent
                error = [[value - estimate['bits_low']], [estimate['bits_high'] - value]]
            axes.bar([place], [value], 0.5, yerr=error, capsize=4, color=COLOURS[place])
            for name, style, align in (
                ('ceiling_bits', '-', 'bottom'),
                ('temperature_ceiling_bits', '--', 'top'),
            ):
                level = estimate[name]
                axes.hlines(level, place - 0.4, place + 0.4, color='0.2', linestyle=style)
                label = 'ceiling log2(2K - 1)' if style == '-' else 'ceiling by temperature'
                axes.annotate(
                    label, (place, level), (0, 3 if style == '-' else -3),
                    textcoords='offset points', fontsize=8, va=align, ha='center',
                )  # fmt: skip
        names = {'views': 'two views', 'class': 'one class'}
        axes.set_xticks(range(len(found)), [names[kind] for kind in found])
        axes.set_xlim(-0.6, len(found) - 0.4)
        axes.set_ylabel('bits')
        axes.margins(y=0.1)

    return drawn(draw, 'Mutual information of h, held-out estimates', width=4.5)
