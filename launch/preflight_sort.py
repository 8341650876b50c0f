"""Compiles ways to sort inside the sliced Wasserstein distance for TPU slices, and compares them.

python -m launch.preflight_sort
python -m launch.preflight_sort --rows=2048 --dimensions=128 --topology=v5e:2x4

Value and gradient of `losses.sliced_wasserstein` of so many rows on all devices, with as many
directions as dimensions, each time with another sort. Needs `pip install -e ".[tpu]"` and no TPU.
Seconds are the TPU compiler's own estimate, which is the bytes that its instructions name over nine
tenths of the bandwidth of HBM, those that stay on the chip included. What a sort compares and that
a scatter goes entry by entry is not in it: it ranks what is moved, and is no forecast.
"""

from absl import flags

from experiments import cli
from launch import chips

TOPOLOGY = flags.DEFINE_multi_string(
    'topology', ['v5e:4x4', 'v6e:4x4'], "A chip and its slice, as in 'v5e:4x4'; repeat it."
)
ROWS = flags.DEFINE_integer('rows', 8192, 'Rows of the samples, and of the prior.', 2)
DIMENSIONS = flags.DEFINE_integer('dimensions', 256, 'Dimensions, and directions.', 1)


def main():
    """Flags to one table."""
    from launch import compiler, sorts  # not above: --help must answer at once

    places = [chips.slice_of(topology) for topology in TOPOLOGY.value]
    compiler.require()
    results = {}
    for place in places:
        mesh = compiler.mesh_of(place)
        results[place.name] = {
            name: sorts.compile_form(form, mesh, ROWS.value, DIMENSIONS.value)
            for name, form in sorts.forms().items()
        }
    print(sorts.table(results))


if __name__ == '__main__':
    cli.run(main)
