"""What must hold for any contrastive loss, as checks of a function: ours or a user's.

`Case` makes the inputs of a loss from the names of its parameters, `CHECKS` are the identities,
`check` runs them all; `loss_of` reads a loss from a command line and `table` prints findings.
"""

from contrastive_jax.identities.checks import CHECKS, Finding, check
from contrastive_jax.identities.inputs import Case
from contrastive_jax.identities.report import loss_of, table

__all__ = ['CHECKS', 'Case', 'Finding', 'check', 'loss_of', 'table']
