"""Puts a loss through the identities that every contrastive loss must satisfy, and prints a table.

python -m experiments.check_loss --loss='my_module:my_loss,temperature=0.1'
python -m experiments.check_loss --loss=nt_xent,temperature=0.1

The loss is a function by import path, or one of `contrastive_jax.losses` by name. What its arrays
are is read from its parameter names: z1 and z2 are the projections of two views [n, d]; anchors,
bank and index a memory bank; z and labels labelled rows; and so on. Two positional parameters of
any other names are the two views. It returns a scalar or (scalar, dict).

What could not be tested says why: a temperature must be named so to be varied. Exits with 1 where
an identity that must hold does not, 2 on bad input.
"""

import contextlib

from absl import flags

from contrastive_jax.errors import BadInput
from experiments import cli

LOSS = flags.DEFINE_string(
    'loss', None, "The loss and its options: 'my_module:my_loss,temperature=0.1', 'nt_xent,...'."
)
flags.mark_flag_as_required('loss')


def main():
    """Prints the table; returns the exit code."""
    import jax  # not above: --help must answer at once

    from contrastive_jax import identities

    # Four devices on any processor. If devices exist already the check says when they are too few.
    with contextlib.suppress(RuntimeError):
        jax.config.update('jax_num_cpu_devices', 4)
    try:
        function, options = identities.loss_of(LOSS.value)
        findings = identities.check(function, options)
    except ValueError as error:  # whatever the user's module says of itself
        raise BadInput(str(error)) from error
    print(identities.table(findings))
    return int(any(finding.must and finding.holds is False for finding in findings))


if __name__ == '__main__':
    cli.run(main)
