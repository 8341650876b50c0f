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
    axes.set_axisbelow(True)
    axes.set_title(title, loc='left', fontsize=11)
    file = io.BytesIO()
    figure.savefig(file, format='png', dpi=110)
    return file.getvalue()


def dots(rows, title, label, levels=None):
    """A row of dots with intervals for each thing that is read.

    Args:
      rows: {row: {representation: Value}}, from the top; a row without values is a gap.
      title: of the picture.
      label: of the axis, from 0 to 1, or less where all values are below a half.
      levels: {row: a level to mark}.
    """
    levels = levels or {}
    names = list(dict.fromkeys(name for row in rows.values() for name in row))

    def draw(axes):
        for number, name in enumerate(names):
            shift = 0.6 * ((number + 0.5) / len(names) - 0.5)
            found = [(place, row[name]) for place, row in enumerate(rows.values()) if name in row]
            places, values = zip(*found, strict=True)
            middles = np.array([value.value for value in values])
            ends = np.array([(v.value, v.value) if v.low is None else v[1:] for v in values])
            axes.errorbar(
                middles, np.array(places) + shift, xerr=np.abs(ends.T - middles), fmt='o',
                markersize=5, linewidth=1.2, color=COLOURS[number % len(COLOURS)], label=name,
            )  # fmt: skip
        for place, row in enumerate(rows):
            if row in levels:
                axes.vlines(levels[row], place - 0.42, place + 0.42, color='0.55', linewidth=3)
        axes.set_yticks(range(len(rows)), list(rows))
        axes.set_ylim(len(rows) - 0.4, -0.6)
        marks = [
            *levels.values(),
            *(v.high or v.value for row in rows.values() for v in row.values()),
        ]
        axes.set_xlim(-0.01, 1.01 if max(marks) > 0.5 else max(0.1, 1.2 * max(marks)))
        axes.set_xlabel(label)
        axes.legend(frameon=False, loc='upper left', bbox_to_anchor=(1, 1))

    height = 1.1 + len(rows) * max(0.26, 0.12 * len(names))
    return drawn(draw, title, width=6.5, height=max(2.0, height))


def gradient_shares(name, shares, own):
    """Who receives the gradient: for each temperature the share of each tenth of the negatives.

    Args:
      name: of the representation.
      shares: {temperature: [10]}, the nearest tenth first.
      own: the temperature of the run, or None.
    """
    from matplotlib import colormaps

    colours = colormaps['magma'](np.linspace(0.15, 0.95, 10))

    def draw(axes):
        for place, share in enumerate(shares.values()):
            starts = np.concatenate([[0], np.cumsum(share)[:-1]])
            axes.barh([place] * 10, share, 0.8, starts, color=colours)
            words = 'nearest tenth: ' if share[0] > 0.35 else ''
            text = f'{words}{100 * share[0]:.0f} %'
            axes.text(share[0] / 2, place, text, color='w', ha='center', va='center')
        axes.set_yticks(
            range(len(shares)), [f'{t:g}{" (this run)" if t == own else ""}' for t in shares]
        )
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.set_ylabel('temperature')
        axes.set_xlabel('share of the gradient, from the nearest tenth (dark) to the farthest')
        axes.grid(visible=False)

    return drawn(draw, f'{name}: which negatives does the gradient push?', height=3.0)


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
    """Spectra [d] of unit rows, and dashed of rows as they are, each over its largest value.

    Args:
      found: {representation: {'unit': [d], 'raw': [d]}}.
    """

    def draw(axes):
        lowest = 1.0
        for number, (name, both) in enumerate(found.items()):
            for kind, values in both.items():
                share = np.maximum(values / (values[0] or 1.0), 1e-12)
                lowest = min(lowest, share.min())
                axes.semilogy(
                    np.arange(1, len(share) + 1), share, color=COLOURS[number % len(COLOURS)],
                    linestyle='-' if kind == 'unit' else '--',
                    label=f'{name} ({len(share)} dimensions)' if kind == 'unit' else None,
                )  # fmt: skip
        axes.plot([], [], '--', color='0.4', label='rows as they are')
        axes.set_ylim(max(1e-9, lowest / 2), 2)
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
        for place, estimate in enumerate(found.values()):
            value = estimate['bits']
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


def weight_spectra(spectra):
    """Singular values of weight matrices, {name: [k], each over its largest}."""

    def draw(axes):
        for number, (name, values) in enumerate(spectra.items()):
            axes.semilogy(
                np.linspace(0, 1, len(values)), np.maximum(values, 1e-6), '.-',
                color=COLOURS[number % len(COLOURS)], alpha=1 - 0.5 * (number >= len(COLOURS)),
                label=f'{name} ({len(values)})',
            )  # fmt: skip
        axes.set_ylim(max(1e-6, min(values.min() for values in spectra.values()) / 2), 1.5)
        axes.set_xlabel('singular values by falling size: 0 the first, 1 the last')
        axes.set_ylabel('value / largest')
        axes.legend(frameon=False, loc='upper left', bbox_to_anchor=(1, 1), fontsize=9)

    return drawn(draw, 'How many directions do the weights pass on?', width=7.5)


def explained(scores, columns):
    """Shares of each latent that are read linearly, as a table of colours.

    Args:
      scores: {layer or representation: [k]}, first to last.
      columns: k names of the latents.
    """

    def draw(axes):
        table = np.array(list(scores.values()))
        axes.imshow(np.clip(table, 0, 1), cmap='viridis', vmin=0, vmax=1, aspect='auto')
        for (row, column), value in np.ndenumerate(table) if table.shape[1] <= 20 else ():
            colour = 'k' if value > 0.6 else 'w'
            axes.text(column, row, f'{value:.2f}', ha='center', va='center', color=colour, size=8)
        axes.set_yticks(range(len(scores)), list(scores))
        axes.set_xticks(range(len(columns)), columns, rotation=40, ha='right')
        axes.grid(visible=False)

    return drawn(
        draw, 'What a linear map reads of each latent (adjusted R2: 1 all, 0 nothing)',
        width=2.5 + 0.55 * len(columns), height=1.6 + 0.32 * len(scores),
    )  # fmt: skip


def by_layer(scores):
    """Scores of groups of latents from layer to layer, {group: {layer: score}}."""

    def draw(axes):
        for number, (group, found) in enumerate(scores.items()):
            axes.plot(list(found), list(found.values()), 'o-', color=COLOURS[number], label=group)
        axes.set_ylim(min(-0.03, *(min(found.values()) for found in scores.values())), 1.03)
        axes.set_ylabel('adjusted R2, mean of the group')
        axes.tick_params(axis='x', rotation=40)
        axes.legend(frameon=False)

    title = f'How much of {" and ".join(scores)} is left in each layer?'
    return drawn(draw, title, height=3.8)
