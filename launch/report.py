"""The table of a preflight."""

from collections import Counter

from launch import hlo

LEFT_OUT = (
    'Arithmetic: matrix products and convolutions, loops as often as they run; left out are '
    'element-wise work, sums, sorts, factorisations and random bits.'
)
GIB, MIB = 2**30, 2**20


def table(results, largest):
    """A Markdown table with a column for each `fitting.Compiled`.

    Args:
      results: a list of `fitting.Compiled`.
      largest: a batch that fits by topology, of those where the config's does not.
    """
    columns = [column_of(result, largest.get(result.place.name)) for result in results]
    names = dict.fromkeys(name for column in columns for name in column)
    rows = [['', *(result.place.name for result in results)], ['---'] * (len(results) + 1)]
    rows += [[name, *(column.get(name, '') for column in columns)] for name in names]
    notes = ['', LEFT_OUT]
    if loops := max(result.flops.unknown_loops for result in results):
        notes.append(f'{loops} loops of unknown length count as one turn.')
    return '\n'.join(['| ' + ' | '.join(row) + ' |' for row in rows] + notes)


def column_of(result, largest=None):
    """The rows of one topology as {name: text}."""
    place = result.place
    rows = {
        'chips, devices, workers': f'{place.chips}, {place.devices}, {place.workers}',
        'batch: all, a device': f'{result.batch_size:,}, {result.batch_size // place.devices:,}',
        'fits': 'yes' if result.fits else f'no; {largest:,} does' if largest else 'no',
        **memory_rows(result),
        'compilation, its processor time': (
            f'{result.seconds:.0f} s, {result.processor_seconds:.0f} s'
        ),
        'arithmetic a chip': f'{result.flops.products / place.chips / 1e12:.3g} TFLOP',
    }
    floors = floors_of(result)
    rows |= {f'floor: {name}': f'{1e3 * seconds:.3g} ms' for name, seconds in floors.items()}
    if result.collectives is not None:
        rows |= collective_rows(result.collectives)
    return rows | (time_rows(result, max(floors.values())) if result.fits else {})


def memory_rows(result):
    """The memory of a device, and of a chip where that is another."""
    devices = result.place.chip.devices
    rows = {
        'HBM a device': f'{result.needed / GIB:.2f} of {result.available / GIB:.4g} GiB',
    }
    if devices > 1:
        chip = f'{devices * result.needed / GIB:.2f} of {devices * result.available / GIB:.4g} GiB'
        rows['HBM a chip'] = chip
    rows |= {f'- {name}': f'{size / GIB:.2f} GiB' for name, size in result.memory.items()}
    return rows


def floors_of(result):
    """Seconds that a step takes at least, by what limits it.

    Of a program that does not fit only the arithmetic is known.
    """
    place, chip = result.place, result.place.chip
    floors = {'arithmetic': result.flops.passes / place.chips / chip.flops}
    if result.collectives is not None:
        sent = sum(each.sent(place.devices) for each in result.collectives)
        floors['HBM'] = result.traffic * chip.devices / chip.memory_bandwidth
        floors['links'] = sent * chip.devices / chip.link_bandwidth
    return floors


def collective_rows(collectives):
    """Number and bytes of each kind, and how many stand in loops."""
    counts, sizes = Counter(), Counter()
    for each in collectives:
        counts[each.kind] += 1
        sizes[each.kind] += each.size
    rows = {
        kind: f'{counts[kind]}, {sizes[kind] / MIB:.3g} MiB' if counts[kind] else 'none'
        for kind in hlo.KINDS
    }
    in_loops = sum(each.in_loop for each in collectives)
    return rows | {'collectives in loops': f'{in_loops or "none"}'}


def time_rows(result, seconds):
    """Rates and hours at a step of so many seconds."""
    rate = result.batch_size / seconds
    a_worker = rate / result.place.workers
    epochs = result.num_steps * result.batch_size / result.examples
    return {
        'step, at least': f'{1e3 * seconds:.3g} ms',
        'images (two views each) a second, at most': f'{rate:,.0f}',
        'then each worker reads': (
            f'{a_worker:,.0f} images/s, {a_worker * result.image_bytes / 1e6:,.0f} MB/s decoded'
        ),
        'steps, epochs': f'{result.num_steps:,}, {epochs:.3g}',
        'hours, at least': f'{result.num_steps * seconds / 3600:.3g}',
    }


def too_large_sentence(name, batch_size, largest):
    """What to do about a topology that does not fit."""
    if not largest:
        return f'{name}: batch {batch_size:,} does not fit, nor does one example a device.'
    return (
        f'{name}: batch {batch_size:,} does not fit; {largest:,} does: '
        f'--config.batch_size={largest}.'
    )
