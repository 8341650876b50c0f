"""Compiles a config's train step for a Cloud TPU slice, without a TPU, and says what it needs.

python -m launch.preflight --config=configs/chen2021/imagenet_losses.py --topology=v5e:4x4
python -m launch.preflight --config=... --loss=... --topology=v5e:4x4 --topology=v6e:4x4

Needs `pip install -e ".[tpu]"` and neither a TPU nor the data. Several topologies make a table.
Exits with 1 when a topology has too little memory, naming a batch for which there is
enough: one larger by an eighth has not.

The floors are what the published peaks of a chip allow, not a forecast. The arithmetic is that of
matrix products and convolutions; what crosses the links is what each collective must send; the
memory traffic is an estimate, of all that the instructions of the compiled program name.
"""

from absl import flags

from contrastive_jax.errors import BadInput
from experiments import cli, config_files
from launch import chips, report

config_files.define(workdir=False)
TOPOLOGY = flags.DEFINE_multi_string(
    'topology', [], "A chip and its slice, as in 'v5e:4x4'; repeat it for a table."
)


def main():
    """Flags to one table."""
    from launch import compiler, fitting  # not above: --help must answer at once

    if not TOPOLOGY.value:
        raise BadInput("--topology is missing; it is a chip and its slice, as in 'v5e:4x4'.")
    places = [chips.slice_of(topology) for topology in TOPOLOGY.value]
    compiler.require()
    config, _ = config_files.config_and_overrides()
    results, largest = [], {}
    for place in places:

        def compile_at(batch_size, place=place):
            changed = config.copy_and_resolve_references()
            changed.batch_size = batch_size
            print(f'compiling for {place.name} at batch {batch_size} ...', flush=True)
            return fitting.compile_step(changed, place)

        result = compile_at(config.batch_size)
        results.append(result)
        if not result.fits:
            largest[place.name] = fitting.largest_batch(config, place, result, compile_at)
    print(report.table(results, largest))
    for name, batch_size in largest.items():
        print(report.too_large_sentence(name, config.batch_size, batch_size))
    return cli.FAILED if largest else cli.DONE


if __name__ == '__main__':
    cli.run(main)
