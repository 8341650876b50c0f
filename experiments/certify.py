"""Whether a config computes the same on 1, 2, 4 and 8 devices, simulated on any machine.

python -m experiments.certify --config=configs/chen2021/randbit_digits.py

Runs the smoke form of the config (its argument 'smoke'; another argument is left alone), with other
rows of the batch on each device, and compares losses, gradients, batch statistics and metrics of
the first steps, and the embeddings of the test split, with those of one device. Values relative to
max(1, |value|) and arrays relative to their largest entry must agree to 1e-6 (1e-4 where a
temperature is below 0.05), or to 4 times what one unit in the last place of each parameter changes
on one device, the column 'rounding', but for at most 1e-3; ids, labels and factors exactly. Exits
with 1 where they do not.
"""

import inspect
import sys
from pathlib import Path

from experiments import cli, config_files

config_files.define(workdir=False)


def main():
    """Prints the table; returns the exit code."""
    import jax  # not above: --help must answer at once

    from contrastive_jax.training import certificate

    jax.config.update('jax_platforms', 'cpu')
    jax.config.update('jax_num_cpu_devices', max(certificate.COUNTS))
    config, _ = config_files.config_and_overrides()
    differences = certificate.certify(config)
    steps = min(config.num_steps, certificate.STEPS)
    print(f'{steps} steps of batch {config.batch_size}, other rows on each device')
    print(certificate.table(differences))
    return cli.DONE if all(difference.agrees for difference in differences) else cli.FAILED


def smoke_form(argument):
    """A flag --config=path of a config that takes an argument, with 'smoke' for it."""
    flag, _, path = argument.partition('=')
    if flag.lstrip('-') != 'config' or ':' in path or not Path(path).is_file():
        return argument
    parameters = inspect.signature(config_files.load(path).get_config).parameters
    return f'{argument}:smoke' if parameters else argument


if __name__ == '__main__':
    sys.argv[1:] = [smoke_form(argument) for argument in sys.argv[1:]]
    cli.run(main)
