"""The public list of losses: what `config.loss.name` may say.

Two-view training objectives take raw projections `z1, z2` [n, d], row i of both from example i,
and return `(scalar, parts)`: the mean over anchors in nats and a dict of named scalars.
"""

from contrastive_jax.losses.anisotropic import anisotropic_info_nce
from contrastive_jax.losses.bootstrap import byol_regression
from contrastive_jax.losses.generalized import distribution_matching, generalized_contrastive
from contrastive_jax.losses.infonce import (
    box_info_nce,
    cross_view_info_nce,
    decoupled_nt_xent,
    directclr,
    nt_xent,
    queue_contrastive,
    sphere_info_nce,
)
from contrastive_jax.losses.margins import hardest_negative_triplet, in_batch_hard, in_batch_simple
from contrastive_jax.losses.memory_bank import (
    contrastive,
    hard_contrastive,
    hard_simple_contrastive,
    instance_discrimination,
    instance_discrimination_views,
    simple_contrastive,
)
from contrastive_jax.losses.mutual_information import (
    barber_agakov,
    info_nce_bound,
    nwj,
    vince_bound,
)
from contrastive_jax.losses.neighbour_sets import (
    annulus,
    ball,
    contrastive_multiview_coding,
    local_aggregation,
)
from contrastive_jax.losses.noise_contrastive import (
    instance_discrimination_noise_contrastive,
)
from contrastive_jax.losses.sliced_wasserstein import sliced_wasserstein
from contrastive_jax.losses.supervised import cross_entropy, multi_label, supcon
from contrastive_jax.losses.vae import evidence_lower_bound

__all__ = [
    'anisotropic_info_nce',
    'annulus',
    'ball',
    'barber_agakov',
    'box_info_nce',
    'byol_regression',
    'contrastive',
    'contrastive_multiview_coding',
    'cross_entropy',
    'cross_view_info_nce',
    'decoupled_nt_xent',
    'directclr',
    'distribution_matching',
    'evidence_lower_bound',
    'generalized_contrastive',
    'hard_contrastive',
    'hard_simple_contrastive',
    'hardest_negative_triplet',
    'in_batch_hard',
    'in_batch_simple',
    'info_nce_bound',
    'instance_discrimination',
    'instance_discrimination_noise_contrastive',
    'instance_discrimination_views',
    'local_aggregation',
    'multi_label',
    'nt_xent',
    'nwj',
    'queue_contrastive',
    'simple_contrastive',
    'sliced_wasserstein',
    'sphere_info_nce',
    'supcon',
    'vince_bound',
]
